"""I-CONSERVE: every row of a pool is in exactly one place, and live requests alone hold rows."""

from __future__ import annotations

from dataclasses import replace

from handmade import OPERATIONS, SLOTS, judged, snapshot

from harness.invariants import rows_are_conserved
from harness.scenario import Finish
from harness.trace import Pool, Violation


def _judged(pool: Pool, *more: Finish) -> list[Violation]:
    operations = (*OPERATIONS, *more)
    now = snapshot(pools=(pool,), operation=len(operations) - 1)
    return judged(rows_are_conserved, now, operations=operations)


def test_rows_that_are_free_held_or_retiring_hold() -> None:
    assert _judged(SLOTS) == []
    assert _judged(replace(SLOTS, free=(), retiring=(2,))) == []


def test_a_row_held_by_a_request_that_ended_is_a_leak() -> None:
    (violation,) = _judged(SLOTS, Finish("a"))
    assert (violation.rule, violation.buffer, violation.row, violation.request) == ("leak", "slots", 0, "a")
    assert _judged(replace(SLOTS, owners={"b": 1}, retiring=(0,)), Finish("a")) == []


def test_a_row_held_by_somebody_who_never_came_is_a_leak() -> None:
    (violation,) = _judged(replace(SLOTS, owners={"a": 0, "b": 1, "warm-up": 2}, free=()))
    assert violation.message == "warm-up holds row 2 of pool slots and is no live request"


def test_a_row_in_two_places_is_named() -> None:
    for twice in (replace(SLOTS, free=(1, 2)), replace(SLOTS, free=(2, 2)), replace(SLOTS, retiring=(2,))):
        (violation,) = _judged(twice)
        assert (violation.rule, violation.expected, violation.seen) == ("twice", "one", "2")


def test_a_row_that_is_nowhere_is_lost() -> None:
    (violation,) = _judged(replace(SLOTS, free=()))
    assert (violation.rule, violation.row, violation.expected, violation.seen) == (
        "lost", 2, "3 rows accounted for", "2",
    )  # fmt: skip
