"""I-LOUD: a refusal is never swallowed. I-BAKED: a replayed graph reads what is in use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CONFIG, CONTEXT, HEALTHY, MAP, SLOTS, judged, snapshot

from harness.invariants import Monitor, graphs_read_present_storage, refusals_are_loud
from harness.scenario import Admit, Capture, DraftLen, Operation, Rebind, Scenario, Step
from harness.trace import Event, EventKind, Snapshot, Violation

REFUSED = Event(EventKind.REFUSE, "slots", "b")


def test_an_operation_without_a_refusal_or_with_one_that_was_made_good_holds() -> None:
    assert judged(refusals_are_loud, snapshot()) == []
    assert judged(refusals_are_loud, snapshot(events=(REFUSED,))) == []  # b has a row in the end


def test_a_refused_request_that_runs_on_without_a_row_is_named() -> None:
    without = replace(SLOTS, owners={"a": 0}, free=(1, 2))
    (violation,) = judged(refusals_are_loud, snapshot(events=(REFUSED,), pools=(without,)))
    assert (violation.rule, violation.buffer, violation.request) == ("swallowed", "slots", "b")
    assert (violation.expected, violation.seen) == ("an error, or a row", "neither")


@pytest.mark.parametrize("other", [replace(REFUSED, request="c"), replace(REFUSED, kind=EventKind.WARN)], ids=str)
def test_a_refusal_of_somebody_who_does_not_run_is_no_finding(other: Event) -> None:
    without = replace(SLOTS, owners={"a": 0}, free=(1, 2))
    assert judged(refusals_are_loud, snapshot(events=(other,), pools=(without,))) == []


def _stepped_again(graph: int | None, step: Step, *between: Operation) -> list[Violation]:
    operations = (Capture(2), Admit("a", 4), Admit("b", 4), Step(("a",)), *between, step)
    monitor = Monitor(Scenario(CONFIG, operations), [refusals_are_loud])
    assert monitor(snapshot(operation=3, graph=2)) == []
    return monitor(snapshot(operation=len(operations) - 1, graph=graph))


def test_a_step_that_runs_eagerly_though_its_graph_was_replayed_before_is_named() -> None:
    assert _stepped_again(2, Step(("a",))) == []
    (violation,) = _stepped_again(None, Step(("a",)))
    assert (violation.rule, violation.expected, violation.seen) == ("eager", "the graph of bucket 2", "no graph")


@pytest.mark.parametrize(
    ("step", "between"),
    [(Step(("a",), graph=False), ()), (Step(("a",)), (Rebind(),)), (Step(("a",)), (DraftLen(1),))],
    ids=["asked for", "graphs are void", "another draft length"],
)
def test_a_step_may_run_eagerly_where_no_graph_is_to_be_used(step: Step, between: tuple[Operation, ...]) -> None:
    assert _stepped_again(None, step, *between) == []


def _replayed(generation: int, graph: int | None = 2) -> list[Violation]:
    scenario = Scenario(CONFIG, (Capture(2), Admit("a", 4), Step(("a",))))
    monitor = Monitor(scenario, [graphs_read_present_storage])
    captured = replace(HEALTHY, operation=0, batch=(), graph=None, requests={})
    assert monitor(captured) == []
    now: Snapshot = snapshot(graph=graph, buffers=(replace(CONTEXT, generation=generation), MAP))
    return monitor(now)


def test_a_graph_replayed_on_the_storages_of_its_capture_holds() -> None:
    assert _replayed(generation=0) == []


def test_a_buffer_that_moved_since_the_capture_is_named() -> None:
    (violation,) = _replayed(generation=1)
    assert (violation.rule, violation.buffer) == ("moved", "worker.context")
    assert (violation.expected, violation.seen) == ("generation 0", "generation 1")
    assert violation.orders == "captured 2, used 2"


def test_an_eager_step_may_use_other_storages() -> None:
    assert _replayed(generation=1, graph=None) == []


def test_the_monitor_tells_the_orders_without_repeating_a_bucket_in_use() -> None:
    steps = [Step(("a",))] * 4
    scenario = Scenario(CONFIG, (Capture(3), Capture(2), Admit("a", 4), *steps))
    monitor = Monitor(scenario, [refusals_are_loud])
    without = replace(SLOTS, owners={})
    for offset, graph in enumerate((2, 2, 3, 2)):
        found = monitor(
            snapshot(operation=3 + offset, graph=graph, events=(replace(REFUSED, request="a"),), pools=(without,))
        )
    assert found[0].orders == "captured 3>2, used 2>3>2"
