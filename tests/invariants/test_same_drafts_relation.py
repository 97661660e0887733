"""R-ALONE: a request's drafts and tokens are a function of its own text, and of nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from handmade import CONFIG, HEALTHY, OPERATIONS, STEPPED

from harness.invariants import same_drafts
from harness.launch import Launcher, Run
from harness.orders import all_orders
from harness.scenario import WORKERS, Admit, Capture, Config, Operation, Scenario, Step
from harness.trace import Outcome, RequestState, Trace
from repro_cases.stories import alone

BUCKETS = (1, 2, 3, 4)
NAMES = ("r0", "r1", "r2", "r3")


def _trace(**states: RequestState) -> Trace:
    return Trace(Scenario(CONFIG, OPERATIONS), "embedded", "cpu", [replace(HEALTHY, requests=states)])


def test_equal_states_at_equal_positions_hold_whatever_else_differs() -> None:
    a = STEPPED["a"]
    same = replace(a, emitted=(7, 8, 9), accepted=2, confidence=(0.5,))
    assert same_drafts(_trace(a=a), _trace(a=same)) == []


def test_positions_and_requests_that_one_trace_alone_saw_are_not_compared() -> None:
    a = STEPPED["a"]
    later = replace(a, position=6, drafts=(8, 8, 8))
    assert same_drafts(_trace(a=a), _trace(a=later, b=later)) == []


def test_other_drafts_are_named_with_request_and_operation() -> None:
    a = STEPPED["a"]
    (violation,) = same_drafts(_trace(a=a), _trace(a=replace(a, drafts=(1, 2, 4))))
    assert (violation.invariant, violation.rule, violation.request) == ("R-ALONE", "drafts", "a")
    assert (violation.operation, violation.expected, violation.seen) == (2, "[1, 2, 3]", "[1, 2, 4]")


def test_a_shorter_runtime_draft_length_is_compared_as_far_as_it_goes() -> None:
    a = STEPPED["a"]
    assert same_drafts(_trace(a=a), _trace(a=replace(a, drafts=()))) == []
    assert same_drafts(_trace(a=a), _trace(a=replace(a, drafts=(1, 2)))) == []
    assert len(same_drafts(_trace(a=a), _trace(a=replace(a, drafts=(1, 3))))) == 1


def test_another_token_is_named_where_drafts_agree() -> None:
    a = STEPPED["a"]
    (violation,) = same_drafts(_trace(a=a), _trace(a=replace(a, emitted=(5,))))
    assert (violation.rule, violation.expected, violation.seen) == ("tokens", "[9]", "[5]")


def test_the_first_difference_of_a_request_is_enough() -> None:
    a, b = STEPPED["a"], replace(STEPPED["a"], position=6)
    reference, other = _trace(a=a), _trace(a=replace(a, drafts=(7, 7, 7)))
    reference.snapshots.append(replace(HEALTHY, requests={"a": b}))
    other.snapshots.append(replace(HEALTHY, requests={"a": replace(b, drafts=(7, 7, 7))}))
    assert len(same_drafts(reference, other)) == 1


def _captures() -> Iterator[tuple[int, ...]]:
    """Yield every order of every subset of the buckets, the empty one too: 65 of them."""
    for count in range(len(BUCKETS) + 1):
        yield from itertools.permutations(BUCKETS, count)


def _steps(use: tuple[int, ...], shift: int, graph: bool | None) -> Iterator[Operation]:
    """Step one batch a bucket, in use order; who is in it and in which row turns with `shift`."""
    for turn, size in enumerate(use):
        start = shift + turn
        yield Step(tuple(NAMES[(start + offset) % 4] for offset in range(size)), graph)


def _scenarios(worker: str) -> Iterator[Scenario]:
    """Pair every capture order with two use orders, so that the 24 of them meet every kind of capture."""
    uses = all_orders(BUCKETS)
    for index, captured in enumerate(_captures()):
        one, other = uses[index % 24], uses[(index * 7 + 11) % 24]
        yield Scenario(
            Config(worker, 4, 4, BUCKETS),
            (
                *map(Capture, captured),
                *(Admit(name, 4) for name in NAMES),
                *_steps(one, index, None),
                *_steps(other, index + 1, False if index % 3 == 0 else None),
            ),
        )


@pytest.mark.parametrize("worker", WORKERS)
def test_drafts_do_not_depend_on_orders_company_padding_or_graphs(launcher: Launcher, worker: str) -> None:
    reference = launcher.run(Run(alone(Config(worker, 4, 4, ()), requests=4, steps=8)))
    seen = 0
    for _, trace in launcher.run_all(Run(scenario, probes=False) for scenario in _scenarios(worker)):
        assert trace.outcome is Outcome.OK
        assert same_drafts(reference, trace) == []
        seen += sum(len(snapshot.requests) for snapshot in trace.snapshots)
    assert seen > 65 * 20  # states that were compared


@pytest.mark.parametrize("worker", WORKERS)
def test_padding_on_slot_zero_breaks_it(launcher: Launcher, worker: str) -> None:
    steps = [Step(("r1",)), Step(("r0",)), Step(("r0",))]
    scenario = Scenario(Config(worker, 4, 4, (4,)), (Capture(4), Admit("r0", 4), Admit("r1", 4), *steps))
    reference = launcher.run(Run(alone(Config(worker, 4, 4, ()), requests=2, steps=4)))
    trace = launcher.run(Run(scenario, faults=("pad-to-slot-zero",), probes=False))
    (violation,) = same_drafts(reference, trace)
    assert (violation.rule, violation.request) == ("drafts", "r0")
