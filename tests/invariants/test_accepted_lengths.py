"""The mean accepted length of a trace, counted by hand."""

from __future__ import annotations

from handmade import CONFIG, snapshot

from harness.invariants import accepted_lengths
from harness.scenario import Admit, Finish, Operation, Preempt, Resume, Scenario, Step
from harness.trace import RequestState, Trace


def _trace(*told: tuple[Operation, dict[str, int]]) -> Trace:
    """Return a trace of operations, each with what it accepted of whose drafts."""
    trace = Trace(Scenario(CONFIG, tuple(operation for operation, _ in told)), "embedded", "cpu")
    for index, (_, accepted) in enumerate(told):
        states = {name: RequestState(5, (0,) * (count + 1), count, ()) for name, count in accepted.items()}
        trace.snapshots.append(snapshot(operation=index, requests=states, batch=tuple(states)))
    return trace


def test_the_bonus_is_counted_and_the_verification_of_placeholders_is_not() -> None:
    steps = [(Step(), {"a": count}) for count in (0, 3, 1, 2)]
    assert accepted_lengths(_trace((Admit("a", 4), {"a": 0}), *steps)) == {"a": 3.0}


def test_each_request_has_a_mean_of_its_own_from_its_own_second_verification_on() -> None:
    trace = _trace(
        (Admit("a", 4), {"a": 0}), (Step(), {"a": 0}), (Admit("b", 4), {"b": 0}),
        (Step(), {"a": 3, "b": 0}), (Step(), {"a": 1, "b": 2}),
        (Admit("c", 4), {"c": 0}), (Step(("c",)), {"c": 3}),
    )  # fmt: skip
    assert accepted_lengths(trace) == {"a": 3.0, "b": 3.0}


def test_a_request_that_comes_again_verifies_placeholders_again_and_one_that_is_resumed_does_not() -> None:
    again = _trace(
        (Admit("a", 4), {"a": 0}), (Step(), {"a": 0}), (Step(), {"a": 2}), (Finish("a"), {}),
        (Admit("a", 4), {"a": 0}), (Step(), {"a": 0}), (Step(), {"a": 1}),
    )  # fmt: skip
    assert accepted_lengths(again) == {"a": 2.5}
    resumed = _trace(
        (Admit("a", 4), {"a": 0}), (Step(), {"a": 0}), (Preempt("a"), {}), (Resume("a"), {"a": 0}),
        (Step(), {"a": 3}), (Step(), {"a": 1}),
    )  # fmt: skip
    assert accepted_lengths(resumed) == {"a": 3.0}
