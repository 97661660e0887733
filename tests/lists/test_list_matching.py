"""Entries against test ids, waivers against tests, and upstream's reading beside ours."""

from __future__ import annotations

import pytest

from harness.errors import Place
from harness.lists import (
    Applied,
    Entry,
    Level,
    Source,
    WaiverFile,
    WaiverIndex,
    WaiverVerdict,
    explain_waivers,
    match_entries,
    parse_entry,
    parse_test_list,
    parse_waives,
    stage_head,
)
from harness.lists.upstream import prefixed, read_upstream

IDS = [
    "repro/test_a.py::test_pool[exact]",
    "repro/test_a.py::test_pool[a::b/c-[d]]",
    "repro/test_a.py::TestPool::Inner::test_pool[exact]",
    "repro/test_ab.py::test_pool",
    "repro/deep/test_c.py::test_c",
]


def waives(*lines: str) -> WaiverFile:
    file = parse_waives(Source.of("\n".join(lines).encode(), "waives.txt"))
    assert file.problems == ()
    return file


def entry(text: str) -> Entry:
    found, problems = parse_entry(text, Place("list.txt", 1, 1))
    assert found is not None
    assert problems == []
    return found


def lines_of(applied: tuple[Applied, ...]) -> list[tuple[int, Level]]:
    return [(found.waiver.place.line, found.level) for found in applied]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("repro/test_a.py::test_pool[exact]", [0]),
        ("repro/test_a.py::test_pool", [0, 1]),
        ("repro/test_a.py::test_poo", []),
        ("repro/test_a.py::TestPool", [2]),
        ("repro/test_a.py::TestPool::Inner", [2]),
        ("repro/test_a.py", [0, 1, 2]),
        ("./repro/", [0, 1, 2, 3, 4]),
        ("repro/deep", [4]),
        (".", [0, 1, 2, 3, 4]),
        ("repro/test_a", []),
        ("repro/deep repro/test_ab.py repro/deep/test_c.py", [4, 3]),
    ],
)
def test_an_entry_names_ids_by_whole_parts_only(target: str, expected: list[int]) -> None:
    (selected,) = match_entries([entry(target)], IDS)
    assert list(selected.ids) == [IDS[i] for i in expected]


def test_expressions_are_handed_back_for_pytest_to_apply() -> None:
    (selected,) = match_entries([entry('repro/test_a.py -k "exact" -m "not gpu"')], IDS)
    assert len(selected.ids) == 3
    assert (str(selected.entry.keyword), str(selected.entry.markexpr)) == ("exact", "not gpu")


def test_the_narrowest_waiver_decides_then_the_prefixed_then_the_later() -> None:
    file = waives(
        "repro SKIP (folder)",
        "repro/test_a.py SKIP (file)",
        "repro/test_a.py::test_pool XFAIL (function)",
        "full:H100/repro/test_a.py::test_pool XFAIL (function, there)",
        "repro/test_a.py::test_pool XFAIL (function, later)",
        "repro/test_a.py::test_pool[exact] UNSTABLE (id)",
    )
    index = WaiverIndex(file.waivers, "H100-PyTorch-1")
    assert lines_of(index.applicable(IDS[0])) == [
        (6, Level.ID),
        (4, Level.FUNCTION),
        (5, Level.FUNCTION),
        (3, Level.FUNCTION),
        (2, Level.FILE),
        (1, Level.FOLDER),
    ]
    assert lines_of(index.applicable(IDS[4])) == [(1, Level.FOLDER)]
    assert WaiverIndex(file.waivers).find("elsewhere/test_a.py::test_pool[exact]") is None


@pytest.mark.parametrize(
    ("stage", "reached"),
    [
        ("H100-PyTorch-1", True),
        ("H100", True),
        ("H100_PCIe-PyTorch-1", False),
        ("DGX_H100-4_GPUs-PyTorch-1", False),
        ("h100-PyTorch-1", False),
        ("", False),
    ],
)
def test_a_prefix_reaches_exactly_the_stages_with_that_head(stage: str, reached: bool) -> None:
    index = WaiverIndex(waives("full:H100/repro/test_a.py SKIP (x)").waivers, stage)
    assert (index.find(IDS[0]) is not None) is reached


def test_a_stage_head_ends_at_the_first_dash() -> None:
    assert stage_head("DGX_H100-4_GPUs-PyTorch-1") == "DGX_H100"


def test_a_waiver_with_arguments_applies_to_the_entry_of_that_text_only() -> None:
    index = WaiverIndex(waives('repro -k "a or b"  SKIP (x)').waivers)
    assert index.find(IDS[0]) is None
    assert index.find(IDS[0], [entry('repro -k "b"')]) is None
    found = index.find(IDS[0], [entry("repro"), entry('repro   -k "a or b" TIMEOUT (5)')])
    assert found is not None
    assert found.level is Level.ENTRY


def test_an_exact_id_is_narrower_than_its_entry_and_that_is_narrower_than_the_function() -> None:
    lines = (f"{IDS[0]} SKIP (id)", 'repro -k "x" SKIP (e)', "repro/test_a.py::test_pool SKIP (f)")
    applied = WaiverIndex(waives(*lines).waivers).applicable(IDS[0], [entry('repro -k "x"')])
    assert lines_of(applied) == [(1, Level.ID), (2, Level.ENTRY), (3, Level.FUNCTION)]


def explained(file: WaiverFile, test: str, stage: str = "") -> dict[int, WaiverVerdict]:
    return {verdict.waiver.place.line: verdict for verdict in explain_waivers(file, test, stage)}


def test_explaining_says_why_the_other_waivers_do_not_apply() -> None:
    file = waives(
        "full:H100/repro/test_a.py::test_pool SKIP (x)",
        "repro/test_a.py::test_pool[other] SKIP (x)",
        'repro/test_a.py -k "x" SKIP (x)',
        "repro/test_a.py SKIP (x)",
        "repro/test_b.py SKIP (x)",
    )
    verdicts = explained(file, IDS[0], "H100_PCIe-PyTorch-1")
    assert {line: verdict.why for line, verdict in verdicts.items()} == {
        4: "applies to the whole file",
        1: "full:H100/ does not reach stage H100_PCIe-PyTorch-1, whose head is H100_PCIe",
        2: "names other parameters: [other]",
        3: "names the list entry of exactly this text, not the tests in it",
    }
    assert [line for line, verdict in verdicts.items() if verdict.decides] == [4]
    assert "no stage is given" in explained(file, IDS[0])[1].why


@pytest.mark.parametrize(
    ("line", "stage", "test", "says"),
    [
        ("a.py::t SKIP (one (two) three)", "", "a.py::t", "cuts the reason at the first ')': 'one (two'"),
        (
            "a.py::t ISOLATION TIMEOUT (5)",
            "",
            "a.py::t",
            "one marker a line, here TIMEOUT; it loses ISOLATION",
        ),
        ("a.py::t ISOLATION TIMEOUT (5)", "", "a.py::t", "takes 'a.py::t ISOLATION' for the name"),
        ("a.py::t[#1] SKIP (x)", "", "a.py::t[#1]", "takes 'a.py::t[' for the name"),
        ("a.py::t SKIP (x #1)", "", "a.py::t", "stops the whole session"),
        ("a.py::t XFAIL (x)", "", "a.py::t", "an unexpected pass is no failure"),
        ("a.py::t TIMEOUT (5)", "", "a.py::t", "ignores a TIMEOUT"),
        ("full:llm/a.py::t SKIP (x)", "llm-1", "a.py::t", "strips the letters of 'full:'"),
        ("full:B2/a.py::t[B2] SKIP (x)", "B2-T-1", "a.py::t[B2]", "makes 'B2-T-1/a.py::t[B2-T-1]' of it"),
        ("full:A100/a.py::t SKIP (x)", "A10-T-1", "a.py::t", "replaces 'A10' inside it"),
        ("full:B2/a.py::t SKIP (x)", "B2-T-1", "a.py::t[x]", "compares whole ids only"),
        ("unittest/a SKIP (x)", "", "unittest/a/b.py::t", "no session of it matches a folder"),
    ],
)
def test_explaining_says_where_upstream_reads_otherwise(line: str, stage: str, test: str, says: str) -> None:
    (verdict,) = explain_waivers(waives(line), test, stage)
    assert says in "\n".join(verdict.upstream)


@pytest.mark.parametrize(
    ("line", "stage", "test"),
    [
        ("a.py::t[x] SKIP (https://nvbugs/1)", "", "a.py::t[x]"),
        ("full:H100/a.py::t[x] SKIP (r)", "H100-PyTorch-1", "a.py::t[x]"),
        ("unittest/a.py SKIP (r)", "H100-PyTorch-1", "unittest/a.py::C::t[x]"),
        ("full:H100/unittest/a.py::C SKIP (r)", "H100-PyTorch-1", "unittest/a.py::C::t[x]"),
        ("unittest/a SKIP (r)", "H100-PyTorch-1", "unittest/a"),
    ],
)
def test_nothing_is_said_where_upstream_agrees(line: str, stage: str, test: str) -> None:
    (verdict,) = explain_waivers(waives(line), test, stage)
    assert verdict.decides
    assert verdict.upstream == ()


def test_upstream_takes_the_last_of_two_lines_silently() -> None:
    verdicts = explained(waives("a.py::t SKIP (x)", "a.py::t SKIP (y)"), "a.py::t")
    assert verdicts[1].upstream == ("upstream silently takes the last line of this name, waives.txt:2:1",)
    assert verdicts[2].decides
    assert verdicts[2].upstream == ()


@pytest.mark.parametrize(
    ("stage", "name", "becomes"),
    [
        ("H100_PCIe-PyTorch-1", "full:H100/a.py::t", "H100/a.py::t"),
        ("H100-PyTorch-1", "full:DGX_H100/a.py::t", "DGX_H100-PyTorch-1/a.py::t"),
        ("A10-PyTorch-1", "full:A100/a.py::t", "A10-PyTorch-10/a.py::t"),
        ("B200-PyTorch-1", "full:B200/p.py::t[B200_x]", "B200-PyTorch-1/p.py::t[B200-PyTorch-1_x]"),
        ("B200-PyTorch-1", "full:llmapi/x", "mapi/x"),
        ("B200-PyTorch-1", "full:unittest/x", "nittest/x"),
        ("", "full:B200/a.py::t", "B200/a.py::t"),
        ("", "a.py::t", "a.py::t"),
        ("B200-PyTorch-1", "a.py::t", "B200-PyTorch-1/a.py::t"),
    ],
)
def test_upstreams_prefix_rule_is_modelled_with_its_faults(stage: str, name: str, becomes: str) -> None:
    assert prefixed(name, stage) == becomes


def test_upstream_looks_for_markers_in_its_own_order() -> None:
    reading = read_upstream("a.py::t TIMEOUT (90) SKIP (r)")
    assert reading is not None
    assert (reading.name, reading.marker, reading.reason) == ("a.py::t TIMEOUT (90)", "SKIP", "r")
    misspelt = read_upstream("a.py::t SKP (r)")
    assert misspelt is not None
    assert (misspelt.name, misspelt.marker) == ("a.py::t SKP (r)", "")


def test_two_thousand_waivers_are_looked_up_and_not_scanned() -> None:
    class Counted(str):
        """Counts comparisons, which a scan would make for every waiver."""

        compared = 0
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

    text = "\n".join(f"a/test_{i}.py::t[{i}] SKIP (x)" for i in range(2000))
    index = WaiverIndex(parse_waives(Source.of(text.encode(), "w.txt")).waivers)
    found = [index.find(Counted(f"a/test_{i}.py::t[{i}]")) for i in range(1000)]
    assert all(found)
    assert Counted.compared < 5 * 1000


def test_a_flat_list_selects_by_its_entries() -> None:
    entries = parse_test_list(Source.of(b"repro/test_ab.py\nrepro/test_gone.py\n", "l.txt")).entries
    assert [bool(selected.ids) for selected in match_entries(entries, IDS)] == [True, False]
