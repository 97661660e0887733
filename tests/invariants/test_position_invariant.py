"""I-POS: the worker counts exactly what is committed, and the dummy does not climb."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import HEALTHY, SLOTS, STEPPED, judged, snapshot

from harness.invariants import positions_follow
from harness.trace import Snapshot

A = STEPPED["a"]


def _counted(context: int | None, *, lost: bool = False) -> Snapshot:
    return snapshot(requests={"a": replace(A, context=context, context_lost=lost)})


def _dummy(position: int | None) -> Snapshot:
    return replace(HEALTHY, pools=(replace(SLOTS, dummy_position=position),))


@pytest.mark.parametrize("context", [None, A.position])
def test_a_worker_that_counts_right_or_does_not_say_holds(context: int | None) -> None:
    assert judged(positions_follow, _counted(context)) == []


def test_a_count_that_is_not_the_committed_length_names_request_and_row() -> None:
    (violation,) = judged(positions_follow, _counted(4))
    assert (violation.rule, violation.request, violation.row) == ("position", "a", 0)
    assert (violation.expected, violation.seen) == ("5", "4")
    assert violation.message == "the worker counts 4 context tokens for a, which has committed 5"


def test_a_context_that_the_target_declared_lost_is_not_judged() -> None:
    assert judged(positions_follow, _counted(1, lost=True)) == []


def test_a_count_past_the_tables_is_named_even_where_it_is_the_committed_one() -> None:
    beyond = replace(A, position=65, context=65)
    (violation,) = judged(positions_follow, snapshot(requests={"a": beyond}))
    assert (violation.rule, violation.expected, violation.seen) == ("beyond", "at most 64", "65")


@pytest.mark.parametrize(("before", "now"), [(None, 9), (0, 4), (4, 4), (9, 9), (9, 2), (4, None)])
def test_a_dummy_that_stays_within_one_step_or_does_not_grow_holds(before: int | None, now: int | None) -> None:
    assert judged(positions_follow, _dummy(now), before=replace(_dummy(before), operation=1)) == []


def test_a_dummy_that_climbs_past_one_steps_tokens_is_named_with_its_row() -> None:
    (violation,) = judged(positions_follow, _dummy(8), before=replace(_dummy(4), operation=1))
    assert (violation.rule, violation.buffer, violation.row) == ("dummy-climbs", "slots", 3)
    assert (violation.expected, violation.seen) == ("at most 4, one step's tokens", "8")
