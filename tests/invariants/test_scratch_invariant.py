"""I-SCRATCH: what padding can reach is apart from what requests own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CONTEXT, HEALTHY, MAP, SLOT_MAP, SLOTS, judged, snapshot

from harness.invariants import Monitor, dummy_apart
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Admit, Capture, Config, Finish, Operation, Scenario, Step
from harness.trace import Violation

FAULT = ("pad-to-slot-zero",)


def test_a_dummy_behind_the_seats_and_padding_that_points_at_it_hold() -> None:
    assert judged(dummy_apart, snapshot(), before=snapshot(operation=1)) == []


def test_a_dummy_on_a_seat_is_named_though_nobody_owns_it_yet() -> None:
    on_free_seat = replace(SLOTS, dummy=2, free=())
    (violation,) = judged(dummy_apart, snapshot(pools=(on_free_seat,), graph_inputs=()))
    assert (violation.rule, violation.row, violation.buffer) == ("dummy-is-a-seat", 2, "slots")
    assert violation.expected == "a row outside 0..2"


def test_an_engine_without_a_dummy_row_holds() -> None:
    sentinel = replace(SLOT_MAP, sentinel=-1, tail=(-1,))
    assert judged(dummy_apart, snapshot(pools=(replace(SLOTS, dummy=None),), graph_inputs=(sentinel,))) == []


def test_a_request_that_owns_the_dummy_row_is_named() -> None:
    found = judged(dummy_apart, snapshot(pools=(replace(SLOTS, owners={"a": 0, "b": 3}),), graph_inputs=()))
    assert [(v.rule, v.request, v.row) for v in found] == [("dummy-owned", "b", 3)]


def test_two_owners_of_one_row_are_named_both() -> None:
    (violation,) = judged(dummy_apart, snapshot(pools=(replace(SLOTS, owners={"a": 1, "b": 1}),), graph_inputs=()))
    assert (violation.rule, violation.row, violation.seen) == ("row-shared", 1, "a, b")


def test_padding_that_points_at_an_owned_row_names_the_owner_in_the_batch_or_not() -> None:
    aliased = replace(SLOT_MAP, tail=(1,))
    (violation,) = judged(dummy_apart, snapshot(graph_inputs=(aliased,)))
    assert (violation.rule, violation.buffer, violation.row, violation.request) == (
        "padding-aliases", "worker.batch_to_slot", 1, "b",
    )  # fmt: skip
    assert (violation.expected, violation.seen) == ("3", "1")
    assert violation.message.startswith("padding in batch row 1 of worker.batch_to_slot points at row 1, which b")
    assert violation.orders == "captured none, used 2"


def test_padding_on_a_seat_that_nobody_owns_yet_is_named_once_a_buffer() -> None:
    idle = replace(SLOT_MAP, tail=(3, 2, 2))
    (violation,) = judged(dummy_apart, snapshot(graph_inputs=(idle,), padded=4))
    assert (violation.rule, violation.row, violation.request) == ("padding-on-seat", 2, "")
    assert violation.message.startswith("padding in batch row 2 of worker.batch_to_slot points at row 2, a seat")


def test_a_changed_row_of_a_live_request_outside_the_batch_is_named() -> None:
    before = snapshot(operation=1)
    now = snapshot(buffers=(replace(CONTEXT, digests=(10, 21, 30, 40)), MAP))
    (violation,) = judged(dummy_apart, now, before)
    assert (violation.rule, violation.buffer, violation.row, violation.request) == (
        "absent-changed", "worker.context", 1, "b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("digests", "what"),
    [((11, 20, 30, 40), "in the batch"), ((10, 20, 31, 40), "unowned"), ((10, 20, 30, 41), "dummy")],
)
def test_rows_that_may_change_are_left_alone(digests: tuple[int, ...], what: str) -> None:
    del what
    now = snapshot(buffers=(replace(CONTEXT, digests=digests), MAP))
    assert judged(dummy_apart, now, before=snapshot(operation=1)) == []


def test_a_row_that_changed_hands_may_change() -> None:
    before = snapshot(operation=1, pools=(replace(SLOTS, owners={"a": 0, "c": 1}),))
    now = snapshot(buffers=(replace(CONTEXT, digests=(10, 99, 30, 40)), MAP))
    assert judged(dummy_apart, now, before) == []


def test_what_probes_found_is_passed_on_with_the_orders() -> None:
    finding = Violation("I-SCRATCH", "canary", "row 2 was written", 2, "canary", "other", "worker.context", 2)
    (violation,) = judged(dummy_apart, replace(HEALTHY, findings=(finding,)))
    assert violation == replace(finding, orders="captured none, used 2")


def _broken(launcher: Launcher, worker: str, *operations: Operation) -> list[Violation]:
    scenario = Scenario(Config(worker, 4, 4, (4,)), operations)
    assert launcher.run(Run(scenario, Monitor(scenario))).violations == []
    return launcher.run(Run(scenario, Monitor(scenario, [dummy_apart]), FAULT, keep_going=True)).violations


@pytest.mark.parametrize("worker", WORKERS)
def test_padding_on_slot_zero_is_seen_in_the_map_and_in_its_absent_owners_row(
    launcher: Launcher, worker: str
) -> None:
    found = _broken(launcher, worker, Capture(4), Admit("r0", 4), Admit("r1", 4), Step(("r1",)))
    # At the capture nobody owns row 0 yet: it is a seat that somebody will get.
    assert (found[0].operation, found[0].rule, found[0].request) == (0, "padding-on-seat", "")
    alias = next(violation for violation in found if violation.operation == 3)
    assert (alias.rule, alias.buffer, alias.row, alias.request) == (
        "padding-aliases", "worker.batch_to_slot", 0, "r0",
    )  # fmt: skip
    assert (alias.operation, alias.expected, alias.seen) == (3, "4", "0")
    assert alias.orders == "captured 4, used 4"
    changed = {(v.buffer, v.request) for v in found if v.rule == "absent-changed"}
    assert {("worker.context", "r0"), ("worker.ctx_len", "r0")} <= changed


@pytest.mark.parametrize("worker", WORKERS)
def test_padding_on_a_slot_that_nobody_owns_breaks_its_canary(launcher: Launcher, worker: str) -> None:
    operations = (Capture(4), Admit("r0", 4), Admit("r1", 4), Finish("r0"), Step())
    found = [v for v in _broken(launcher, worker, *operations) if v.rule == "canary"]
    assert {(v.buffer, v.row) for v in found} == {("worker.context", 0)}
    assert found[0].orders == "captured 4, used 4"
