"""I-CAP: pools and their buffers span the seats, whatever drafted first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CONTEXT, MAP, SLOTS, judged, snapshot

from harness.invariants import Monitor, spans_seats
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Admit, Capture, Config, Scenario, Step, Warmup


def test_pools_and_buffers_that_span_the_seats_hold() -> None:
    assert judged(spans_seats, snapshot()) == []


def test_a_pool_with_fewer_rows_than_seats_is_named() -> None:
    small = replace(SLOTS, capacity=2, dummy=2, free=())
    (violation,) = judged(spans_seats, snapshot(pools=(small,)))
    assert (violation.rule, violation.buffer, violation.expected, violation.seen) == (
        "capacity",
        "slots",
        "3",
        "2",
    )
    assert violation.message == "pool slots offers 2 rows for 3 seats"


def test_a_pool_with_more_rows_than_seats_is_named_too() -> None:
    (violation,) = judged(spans_seats, snapshot(pools=(replace(SLOTS, capacity=4),)))
    assert violation.seen == "4"


def test_a_buffer_without_a_dummy_row_is_named() -> None:
    (violation,) = judged(spans_seats, snapshot(buffers=(replace(CONTEXT, rows=3), MAP)))
    assert (violation.rule, violation.buffer) == ("rows", "worker.context")
    assert violation.message == "worker.context has 3 rows; 3 seats and 1 for the dummy need 4"


def test_a_map_that_is_narrower_than_the_seats_is_named() -> None:
    (violation,) = judged(spans_seats, snapshot(buffers=(CONTEXT, replace(MAP, rows=2))))
    assert violation.message == "worker.batch_to_slot has 2 rows; 3 seats need 3"


def test_buffers_that_no_pool_addresses_are_not_judged() -> None:
    others = [replace(CONTEXT, name=space, space=space, rows=1) for space in ("batch", "fixed", "unclassified")]
    assert judged(spans_seats, snapshot(buffers=tuple(others))) == []


def test_the_capacity_is_the_configurations_also_where_seats_are_unset() -> None:
    config = Config("dflash", 0, 3, (2, 3))
    assert judged(spans_seats, snapshot(), config=config) == []


@pytest.mark.parametrize("worker", WORKERS)
def test_an_engine_that_sizes_from_the_bucket_breaks_it_and_a_right_one_does_not(
    launcher: Launcher, worker: str
) -> None:
    scenario = Scenario(Config(worker, 5, 5, (2, 4)), (Capture(2), Admit("r0", 4), Step(), Capture(4)))
    assert launcher.run(Run(scenario, Monitor(scenario))).violations == []
    trace = launcher.run(Run(scenario, Monitor(scenario, [spans_seats]), ("capacity-from-bucket",)))
    first, *others = trace.violations
    assert (first.invariant, first.rule, first.buffer, first.operation) == ("I-CAP", "capacity", "slots", 0)
    assert (first.expected, first.seen, first.orders) == ("5", "2", "captured 2, used none")
    named = {violation.buffer for violation in others}
    assert named >= {"worker.context", "worker.ctx_len", "worker.batch_to_slot"}


def test_an_eager_draft_first_hides_the_defect_while_seats_equal_the_rows_of_a_batch(launcher: Launcher) -> None:
    same = Scenario(Config("dflash", 5, 5, (2,)), (Warmup(), Capture(2)))
    more = Scenario(Config("dflash", 7, 5, (2,)), (Warmup(), Capture(2)))
    faults = ("capacity-from-bucket",)
    assert launcher.run(Run(same, Monitor(same), faults)).violations == []
    assert launcher.run(Run(more, Monitor(more), faults)).violations[0].seen == "5"
