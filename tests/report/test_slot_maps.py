"""The slot map of a trace: who owned a row, where padding pointed, what was written, what was broken."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from traces import DUMMY, POOL, SMALL, shot, trace

from harness.codec import decode, dumps
from harness.report.slotmap import Cell, SlotMap, slot_map
from harness.trace import Outcome, Pool, Violation


def drawn(violations: list[Violation] | None = None) -> SlotMap:
    found = slot_map(trace(), [SMALL, DUMMY] if violations is None else violations)
    assert found is not None
    return found


def test_rows_are_the_seats_that_were_promised_and_the_pools_own() -> None:
    assert (drawn().pool, drawn().rows, drawn().seats) == ("slots", (0, 1), 2)
    healthy = trace()
    healthy.snapshots[:] = [shot(0, replace(POOL, capacity=2, dummy=2, free=(0, 1)), (5, 5))]
    found = slot_map(healthy, [])
    assert found is not None
    assert found.rows == (0, 1, 2)
    assert [cell.state for cell in found.lines[0].cells] == ["free", "free", "reserve"]


def test_a_row_is_followed_from_request_to_request() -> None:
    assert [line.cells[0].state for line in drawn().lines] == ["free", "owned", "owned", "retiring", "retiring"]
    assert [line.cells[0].owner for line in drawn().lines] == ["", "a", "a", "", ""]


def test_a_promised_seat_that_the_pool_does_not_have_is_missing_and_broken() -> None:
    assert all(line.cells[1].state == "missing" and line.cells[1].broken for line in drawn([]).lines)


def test_a_row_that_is_neither_free_nor_anybodys_is_lost() -> None:
    broken = trace()
    broken.snapshots[:] = [shot(0, replace(POOL, capacity=2, dummy=2, free=(1,)), (5, 5))]
    found = slot_map(broken, [])
    assert found is not None
    assert found.lines[0].cells[0].state == "lost"


def test_padding_and_writes_show_where_they_went_and_only_on_rows_of_somebody() -> None:
    lines = drawn().lines
    assert [line.cells[1].padded for line in lines] == [True, False, True, False, False]
    assert [line.cells[1].written for line in lines] == [False, False, True, False, False]
    assert [line.cells[0].written for line in lines] == [False, True, True, False, False]  # row 0 is nobody's at 3


def test_two_owners_of_a_row_are_both_named() -> None:
    shared = trace()
    shared.snapshots[:] = [shot(1, replace(POOL, owners={"a": 0, "b": 0}, free=()), (5, 5))]
    found = slot_map(shared, [])
    assert found is not None
    assert found.lines[0].cells[0].owner == "a+b"


def test_a_finding_is_told_once_and_marks_its_row_each_time() -> None:
    again = [SMALL, DUMMY, replace(DUMMY, operation=1)]
    lines = drawn(again).lines
    told = "I-CAP: pool slots offers 1 rows for 2 seats"
    assert [line.broken for line in lines[:2]] == [(told, "I-SCRATCH: the dummy is a seat"), ()]


@pytest.mark.parametrize(
    ("violation", "broken"),
    [
        (Violation("I-SCRATCH", "absent-changed", "m", 1, "", "", "worker.context", 0), True),
        (Violation("I-SEEDED", "row", "m", 1, "", "", "worker.map", 0), True),
        (Violation("I-TAIL", "tail", "m", 1, "", "", "worker.map", 0), False),  # row 0 of the batch
        (Violation("I-CONSERVE", "row", "m", 1, "", "", "seats", 0), False),  # another pool's row
        (Violation("R-ALONE", "drafts", "m", 1, "", "", request="a"), True),
        (Violation("I-POS", "counts", "m", 1, "", "", row=7, request="a"), True),
    ],
    ids=lambda value: value.invariant if isinstance(value, Violation) else "",
)
def test_a_violation_marks_the_pools_row_that_it_names_or_its_requests(violation: Violation, broken: bool) -> None:
    found = slot_map(trace(), [SMALL, violation])
    assert found is not None
    assert found.lines[1].cells[0].broken is broken


def test_the_pool_is_the_one_that_the_first_violation_is_about() -> None:
    two = trace()
    seats = Pool("seats", 2, 2, {}, (0, 1))
    two.snapshots[:] = [replace(shot, pools=(seats, *shot.pools)) for shot in two.snapshots]
    for name, pool in (("seats", "seats"), ("worker.context", "slots"), ("", "slots")):
        found = slot_map(two, [replace(SMALL, buffer=name)])
        assert found is not None
        assert found.pool == pool


def test_where_a_run_broke_off_is_on_a_line_of_its_own_with_what_was_raised() -> None:
    last = drawn().lines[-1]
    assert (last.operation, last.words, last.raised) == (4, "b comes, prompt of 4", "error: NoFreeSlotError: none")
    left = trace()
    left.left = shot(4, POOL, (9, 8))
    found = slot_map(left, [])
    assert found is not None
    assert [line.operation for line in found.lines] == [0, 1, 2, 3, 4]
    assert found.lines[-1].cells[0] == Cell("free")  # what it left behind, not what was there before


def test_a_line_without_a_snapshot_repeats_who_owned_what_and_not_what_was_written() -> None:
    cut = trace()
    del cut.snapshots[3:]
    cut.at = 3
    found = slot_map(cut, [])
    assert found is not None
    assert found.lines[2].cells[1] == Cell("missing", dummy=True, padded=True, written=True, broken=True)
    assert found.lines[3].cells == (Cell("owned", "a"), Cell("missing", dummy=True, broken=True))


def test_a_crash_before_the_first_operation_has_a_map_only_where_there_is_a_pool() -> None:
    empty = replace(trace(), snapshots=[], outcome=Outcome.CRASH, at=-1)
    assert slot_map(empty, []) is None


def test_a_map_travels_as_json() -> None:
    assert decode(SlotMap, json.loads(dumps(drawn()))) == drawn()


def test_a_long_run_is_shown_around_its_first_wrong_line_and_a_wide_pool_without_idle_rows() -> None:
    free = Cell("free")
    lines = tuple(
        replace(drawn().lines[1], operation=n, cells=(*[free] * 50, Cell("owned", "a", broken=n >= 60)), broken=())
        for n in range(100)
    )
    long = SlotMap("slots", "seat", tuple(range(51)), 51, lines)
    assert [line.operation for line in long.window(30)][:1] == [50]
    assert len(long.window(30)) == 30
    assert long.columns(5) == (0, 1, 2, 3, 50)
