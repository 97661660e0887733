"""The same model in a terminal: eighty columns, signs without colour, colour on a terminal alone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import hostile
from sections import matrix_results, result, section, small_map

from harness.report import render_results
from harness.report.markdown import render_markdown
from harness.report.matrix import matrices
from harness.report.slotmap import Cell, Line, SlotMap
from harness.report.summary import examples, folded, verdict
from harness.report.terminal_map import render_slot_map


def test_orders_and_workers_that_end_alike_are_said_once() -> None:
    results = [
        replace(r, case=replace(r.case, order=order))
        for r in matrix_results()
        for order in ((r.case.order[0], *rest) for rest in ((9, 8), (8, 9), (7, 8)))
    ]
    text = render_results(results)
    assert "dflash and dspark:\n  4 captured first (3 of 6 orders)" in text
    assert "    ✗ FAIL   bucket drafts first: production" in text
    assert "    ◌ silent bucket drafts first: production" in text


def test_orders_that_no_first_bucket_tells_apart_are_named() -> None:
    results = [result("dflash", "exact", "bucket", order, word) for order, word in (
        ((4, 2, 1), "ok"), ((4, 1, 2), "FAIL"), ((2, 4, 1), "FAIL"),
    )]  # fmt: skip
    ((_, _, folds),) = folded(matrices(results))
    assert [fold.label for fold in folds] == ["captured 4>2>1", "captured 4>1>2 and 1 more"]


def test_a_verdict_counts_each_way_of_ending() -> None:
    ends = [
        result("dflash", "exact", "eager", (n,), word) for n, word in enumerate(("ok", "crash", "n/a", "FAIL"))
    ]
    assert verdict(ends) == "2 of 4 cases are broken: in 1 the engine itself raises before long, 1 end in crash."


def test_the_map_of_the_first_finding_stands_before_the_reason() -> None:
    text = render_results(matrix_results(), "It is small.", drawn=small_map())
    assert text.index("Rows of pool slots") < text.index("Why: It is small.")
    assert f"  0 capture the graph for 4{'.':>18} xDp!" in text
    assert "    ! I-CAP: pool slots offers 1 rows for 2 seats" in text
    assert "    ! error: NoFreeSlotError: none" in text


def test_a_finding_is_told_by_a_silent_case_of_production_and_a_loud_one() -> None:
    group = [
        result("dflash", regime, "bucket", (4, 2), word)
        for regime, word in (("headroom", "silent"), ("production", "FAIL"), ("production", "silent"))
    ]
    assert examples(group) == [group[2], group[1]]
    assert examples(group[:2]) == group[:2]


def test_a_finding_with_a_long_name_is_told_in_eighty_columns() -> None:
    found = result("dflash", "exact", "bucket", (4, 2), "FAIL")
    long = replace(found.violations[0], rule="padding-aliases", buffer="worker." + "context_" * 4 + "rows")
    lines = render_results([replace(found, violations=[long])]).splitlines()
    assert max(map(len, lines)) <= 80
    assert "fresh process" in " ".join(line for line in lines if line.startswith("  "))


def test_what_holds_has_no_map() -> None:
    text = render_results([result("dflash", "exact", "eager", (4,))], drawn=small_map())
    assert "Rows of pool" not in text


def test_eighty_columns_are_enough_whatever_is_shown() -> None:
    cell = Cell("owned", "a-request-with-a-long-name", dummy=True, padded=True, written=True, broken=True)
    wide = SlotMap(
        "p" * 90, "seat", tuple(range(64)), 64, (Line(0, "w" * 200, (cell,) * 64, ("b" * 300,), "r" * 300),)
    )
    lines = render_slot_map(wide).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("64 rows are shown" in line for line in lines)


@pytest.mark.parametrize("keep", [{"state"}, {"state", "regime", "first"}, {"state", "regime", "first", "worker"}])
def test_nothing_from_outside_drives_the_terminal(keep: set[str]) -> None:
    spoilt = hostile(section(), frozenset(keep))
    text = render_results(spoilt.results, spoilt.mechanism, drawn=spoilt.maps[0])
    assert not [c for c in text if not c.isprintable() and c != "\n"]


def test_cells_are_painted_and_signs_are_there_without_paint() -> None:
    def paint(text: str, colour: str) -> str:
        return f"<{colour}>{text}</>"

    painted = render_slot_map(small_map(), paint)
    assert "<red>xDp!</>" in painted
    assert "<cyan>r0*</>" in painted
    assert "xDp!" in render_slot_map(small_map())


def test_the_markdown_is_made_of_the_same_matrices() -> None:
    text = render_markdown(matrix_results(), "title", drawn=small_map())
    assert "| 4>2 | ok | silent |" in text
    assert "      0 capture the graph for 4" in text  # four blanks more: what Markdown shows as it is


@pytest.mark.parametrize(("environment", "colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_and_no_color_is_honoured(
    tmp_path: Path, environment: dict[str, str], colours: bool
) -> None:
    command = [
        sys.executable, "-m", "harness", "repro", "#19320", "--fault", "dummy-climbs", "--worker", "dflash",
        "--first", "bucket", "--orders", "4,2", "--isolation", "none",
    ]  # fmt: skip
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, env={**plain, **environment}, cwd=tmp_path) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other end of a terminal is closed
                break
            if not data:
                break
            said += data
        assert process.wait() == 1
    os.close(ours)
    assert b"Rows of pool slots" in said
    assert (b"\x1b[31mD" in said) is colours
    assert (b"\x1b[" in said) is colours
