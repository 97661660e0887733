"""Whole files: the three forms, and files as people and tools leave them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import Place, UsageError
from harness.lists import (
    Source,
    TestDbFile,
    WaiverFile,
    format_line,
    parse_test_db,
    parse_test_list,
    parse_waives,
    read_source,
    read_test_db,
    read_waives,
)

DB = """\
version: 0.0.1
l0_slots:
- condition:
    ranges:
      system_gpu_count: {gte: 1, lte: 2}
    wildcards:
      gpu: ['*h100*', '*h200*']
      linux_distribution_name: ubuntu*
    terms:
      stage: pre_merge
      fp8: true
  tests:
  # a section
  - slots/test_a.py::test_b[x-1] TIMEOUT (90) # slow
  - "slots/test_c.py -k 'a'"
  - slots
- condition:
  tests: []
"""


def db(text: str) -> TestDbFile:
    return parse_test_db(Source.of(text.encode(), "l0.yml"))


def waives(data: bytes, name: str = "waives.txt") -> WaiverFile:
    return parse_waives(Source.of(data, name))


def codes(file: TestDbFile | WaiverFile) -> list[tuple[str, int]]:
    return [(problem.code, problem.place.line) for problem in file.problems]


def test_blocks_conditions_and_entries_are_read_with_their_places() -> None:
    file = db(DB)
    assert file.problems == ()
    first, second = file.blocks
    assert [str(rule) for rule in first.condition.rules] == [
        ">= 1 and <= 2",
        "*h100* or *h200*",
        "ubuntu*",
        "pre_merge",
        "True",
    ]
    assert first.condition.wildcards[0].patterns[1].place == Place("l0.yml", 7, 23)
    slow, quoted, folder = first.entries
    assert (slow.place, slow.timeout, str(slow.comment)) == (Place("l0.yml", 14, 5), 5400, "# slow")
    assert slow.text == "slots/test_a.py::test_b[x-1] TIMEOUT (90)"
    assert (str(quoted.keyword), quoted.place) == ("a", Place("l0.yml", 15, 6))
    assert folder.test.text == "slots"
    assert (second.index, second.condition.rules, second.entries) == (1, (), ())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  tests: []", "  tests: []\n  tests: []", ("duplicate-key", 19)),
        ("l0_slots:", "l0_slots: []\nl0_slots:", ("duplicate-key", 3)),
        ("- slots\n", "- slots: x\n", ("wrong-type", 16)),
        ("- slots\n", "- &a slots\n", ("yaml-feature", 16)),
        ("- slots\n", "- !!python/name:os.system slots\n", ("yaml-feature", 16)),
        ("- slots\n", "- slots SKP (x)\n", ("unknown-marker", 16)),
        ("  - slots\n", "<<<<<<< ours\n  - slots\n=======\n", ("conflict-marker", 16)),
        ("- slots\n", "- [x\n", ("yaml-syntax", 17)),
        ("- slots\n", "- 'slots\n", ("yaml-syntax", 16)),
        ("- slots\n", '- "slots\\e[31m"\n', ("control-character", 16)),
        ("gte: 1", "gte: one", ("wrong-type", 5)),
        ("gte: 1", "gt: 1", ("unknown-key", 5)),
        ("terms:", "term:", ("unknown-key", 9)),
        ("tests: []", "test: []", ("unknown-key", 18)),
        ("tests: []", "tests:", ("wrong-type", 18)),
    ],
)
def test_a_broken_piece_of_yaml_is_reported_and_the_rest_is_read(
    old: str, new: str, expected: tuple[str, int]
) -> None:
    assert DB.count(old) == 1
    file = db(DB.replace(old, new))
    assert expected in codes(file)
    assert any(entry.test.text.startswith("slots/test_a.py") for block in file.blocks for entry in block.entries)


def test_an_alias_bomb_costs_nothing() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n" for i in range(500))
    reported = [code for code, _ in codes(db(bomb))]
    assert reported.count("yaml-feature") == 1 + 500 * (1 + 9)


def test_deep_nesting_is_refused() -> None:
    assert codes(db("a: " + "[" * 500)) == [("yaml-depth", 1)]


def test_a_flat_list_is_read_and_template_syntax_is_never_run() -> None:
    text = b"slots/test_a.py::test_b\n% if True:\n${7*7}\n# a comment ${x}\n<% import os %>\nslots\n"
    file = parse_test_list(Source.of(text, "l0.txt"))
    assert [entry.test.text for entry in file.entries] == ["slots/test_a.py::test_b", "slots"]
    assert [(p.code, p.place.line) for p in file.problems] == [("template-syntax", n) for n in (2, 3, 5)]


def test_broken_lines_never_stop_the_reading_of_the_others() -> None:
    file = waives(b"a.py::t SKP (x)\nb.py::t SKIP (x)\n>>>>>>> theirs\n\xff.py::t SKIP\nc.py::t XFAIL")
    assert [w.place.line for w in file.waivers] == [2, 4, 5]
    assert codes(file) == [("unknown-marker", 1), ("conflict-marker", 3), ("bad-encoding", 4)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_is_understood_and_kept(ending: bytes) -> None:
    data = ending.join([b"\xef\xbb\xbfa.py::t SKIP (x)", b"", b"b.py::t SKIP (y)"])
    file = waives(data)
    assert [(w.place.line, w.test.text) for w in file.waivers] == [(1, "a.py::t"), (3, "b.py::t")]
    assert b"".join(line.body + line.ending for line in file.source.lines) == data
    assert [(p.code, p.severity) for p in file.problems] == [("byte-order-mark", "warning")]


def test_binary_and_endless_lines_are_problems_not_crashes() -> None:
    file = waives(b"a.py::t SKIP (x)\n\x00\x01\x02\n" + b"x" * 100_000 + b"\nb.py::t SKIP (y)\n")
    assert [w.place.line for w in file.waivers] == [1, 4]
    assert ("line-too-long", 3) in codes(file)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"x" * (8 * 1024 * 1024 + 1), "over 8 MiB"),
        (b"\n" * 50_001, "over 50000 lines"),
        ("a SKIP".encode("utf-16"), "save it as UTF-8"),
    ],
)
def test_what_is_no_list_is_refused_in_one_line(data: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        waives(data)
    assert "\n" not in str(caught.value)


def test_too_many_yaml_values_are_refused() -> None:
    line = b"[" + b"x," * 8000 + b"],\n"
    with pytest.raises(UsageError, match="over 100000 values"):
        parse_test_db(Source.of(b"a: [\n" + line * 20 + b"]", "l0.yml"))


@pytest.mark.parametrize("name", ["missing.txt", ".", "nul\0name"])
def test_an_unreadable_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_source(tmp_path / name)


def test_a_folder_of_lists_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.txt"):
        (tmp_path / name).write_text(f"{name[0]}:\n- condition:\n  tests: [x]\n")
    assert read_test_db(tmp_path).contexts == ("a", "b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no \.yml file"):
        read_test_db(tmp_path / "empty")


def test_the_yaml_form_of_waivers_says_the_same_as_the_text_form(tmp_path: Path) -> None:
    path = tmp_path / "waives.yml"
    path.write_text("""\
- test: slots/test_a.py::test_b[x]
  prefix: H100
  markers: [XFAIL, TIMEOUT (90)]
  bug: https://nvbugs/12
  reason: pool (too) small
  owner: spec-dec
  until: 2026-12-31
- test: slots/test_c.py
  marker: SKIP
""")
    file = read_waives(path)
    assert file.problems == ()
    first, second = file.waivers
    line = (
        "full:H100/slots/test_a.py::test_b[x] "
        "XFAIL (https://nvbugs/12; pool (too) small; owner=spec-dec; until=2026-12-31) TIMEOUT (90)"
    )
    assert format_line(first) == first.text == line
    assert (first.place.line, first.last_line, second.place.line) == (1, 7, 8)
    (again,) = waives(line.encode()).waivers
    assert again.reason == first.reason


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- test: a.py\n", "no-marker"),
        ("- marker: SKIP\n", "no-test"),
        ("- test: a.py\n  marker: SKP\n", "unknown-marker"),
        ("- test: a.py\n  mark: SKIP\n", "unknown-key"),
        ("- test: a.py\n  marker: SKIP\n  until: soon\n", "bad-date"),
        ("- test: a.py\n  marker: {SKIP: x}\n", "wrong-type"),
        ("- test: a.py\n  marker: SKIP\n  reason: 'open ('\n", "open-parenthesis"),
        ("- test: a.py\n  marker: SKIP\n  prefix: 'H 100'\n", "bad-prefix"),
        ("test: a.py\n", "wrong-type"),
        ("- a.py\n", "wrong-type"),
    ],
)
def test_a_broken_yaml_waiver_is_a_problem(text: str, code: str) -> None:
    assert [problem.code for problem in waives(text.encode(), "waives.yml").problems] == [code]
