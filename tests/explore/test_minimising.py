"""Minimising: what is left shows the violation, nothing of it can go, and no engine is asked twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.explore.drawing import Space, scenarios
from harness.explore.minimising import Minimiser
from harness.explore.shortening import CONFIGURED, removed, reworded, weight
from harness.legality import Model, check
from harness.scenario import (
    OPERATIONS,
    WORKERS,
    Admit,
    Capture,
    Config,
    Finish,
    Idle,
    Preempt,
    Prefill,
    Resume,
    Scenario,
    Step,
    Warmup,
)

SPACE = Space(WORKERS, tuple(OPERATIONS), ("sampling", "overlap", "page_size", "recurrent", "verify"), 14)
CONFIG = Config("dflash", num_seq_slots=4, max_num_requests=3, buckets=(2, 3), draft_len=2, seed=2, recurrent=True)

Broken = Callable[[Scenario], bool]


def minimal(scenario: Scenario, broken: Broken, width: int = 1) -> Scenario:
    return Minimiser(scenario, lambda some: [broken(one) for one in some], width).run()


def names(scenario: Scenario) -> list[str]:
    return [operation.name for operation in scenario.operations]


def has_in_order(wanted: Sequence[str], scenario: Scenario) -> bool:
    left = iter(names(scenario))
    return all(name in left for name in wanted)


@st.composite
def violations(draw: st.DrawFn) -> tuple[Scenario, Broken]:
    """A scenario and a law that it breaks: some of its operations in their order, and at times nothing odd about
    how many there are, so that less may hold and still less break again.
    """
    scenario = draw(scenarios(SPACE))
    assume(scenario.operations)
    kept = draw(st.sets(st.integers(0, len(scenario.operations) - 1), min_size=1, max_size=4))
    wanted = [scenario.operations[index].name for index in sorted(kept)]
    parity = len(scenario.operations) % 2 if draw(st.booleans()) else None

    def broken(some: Scenario) -> bool:
        return has_in_order(wanted, some) and parity in (None, len(some.operations) % 2)

    return scenario, broken


@settings(max_examples=60, deadline=None)
@given(violations())
def test_without_any_one_operation_of_the_result_the_violation_is_gone(violation: tuple[Scenario, Broken]) -> None:
    scenario, broken = violation
    result = minimal(scenario, broken)
    check(result)
    assert broken(result)
    assert weight(result) <= weight(scenario)
    without = [removed(result, {index}) for index in range(len(result.operations))]
    assert not any(one.operations and broken(one) for one in without)


@settings(max_examples=15, deadline=None)
@given(violations(), st.integers(2, 9))
def test_the_result_does_not_hang_on_how_many_are_tried_at_once(
    violation: tuple[Scenario, Broken], width: int
) -> None:
    scenario, broken = violation
    assert minimal(scenario, broken, width) == minimal(scenario, broken)


@settings(max_examples=60, deadline=None)
@given(scenarios(SPACE), st.data())
def test_what_is_left_after_a_removal_or_a_plainer_form_is_legal(scenario: Scenario, data: st.DataObject) -> None:
    assume(scenario.operations)
    index = data.draw(st.integers(0, len(scenario.operations) - 1))
    others = [removed(scenario, {index}), *reworded(scenario, index)]
    for other in [*others, *(other for respect in CONFIGURED for other in respect(scenario))]:
        check(other)
        assert len(other.operations) <= len(scenario.operations)
    assert len(others[0].operations) < len(scenario.operations)


def test_what_needs_a_removed_operation_goes_with_it_and_a_step_goes_on_with_the_others() -> None:
    scenario = Scenario(
        CONFIG,
        (Admit("a", 4), Admit("b", 5), Step(("a", "b")), Preempt("a"), Resume("a"), Finish("a"), Step(("b",))),
    )
    assert removed(scenario, {0}).operations == (Admit("b", 5), Step(("b",)), Step(("b",)))
    assert removed(scenario, {0, 1}).operations == ()


def test_configuration_and_operands_become_as_plain_as_the_violation_allows() -> None:
    operations = (
        Capture(3), Capture(2), Admit("r7", 9, (4, 3, 2), None, True), Prefill("r7"), Prefill("r7"),
        Admit("r9", 6, (), 2), Step(("r9", "r7"), True), Finish("r7"), Step(("r9",)),
    )  # fmt: skip

    def broken(scenario: Scenario) -> bool:  # a batch of two
        model, batches = Model(scenario.config), [0]
        for operation in scenario.operations:
            batches += [len(model.batch(operation))] if isinstance(operation, Step) else []
            model.apply(operation)
        return max(batches) == 2

    result = minimal(Scenario(CONFIG, operations), broken)
    assert result.operations == (Admit("a", 1), Admit("b", 1), Step())
    assert result.config == Config("dflash", 2, 2, (), draft_len=1)


@pytest.mark.parametrize(
    ("needed", "left"),
    [
        (lambda op: len(op.chunks) > 1, Admit("a", 2, (1, 1))),
        (lambda op: op.cached, Admit("a", 2, (), 1)),
        (lambda op: op.prompt_len > 4, Admit("a", 5)),
    ],
)
def test_of_a_prompt_only_what_the_violation_needs_is_left(needed: Callable[[Admit], object], left: Admit) -> None:
    def broken(scenario: Scenario) -> bool:
        return any(isinstance(op, Admit) and needed(op) for op in scenario.operations) and "step" in names(
            scenario
        )

    prompt = Admit("r3", 11, (4, 3, 2), 2, True)
    scenario = Scenario(CONFIG, (prompt, Prefill("r3"), Prefill("r3"), Step()))
    assert minimal(scenario, broken).operations == (left, Step())


def test_a_bucket_that_is_needed_becomes_smaller_and_with_it_the_batch() -> None:
    def broken(scenario: Scenario) -> bool:
        return names(scenario) == ["capture", "admit", "step"]

    result = minimal(Scenario(CONFIG, (Capture(3), Admit("a", 1), Step())), broken)
    assert result.operations == (Capture(1), Admit("a", 1), Step())
    assert (result.config.buckets, result.config.max_num_requests, result.config.seats) == ((1,), 1, 1)


def test_two_operations_that_go_only_together_go() -> None:
    def broken(scenario: Scenario) -> bool:
        return names(scenario).count("idle") % 2 == 0 and "step" in names(scenario)

    scenario = Scenario(CONFIG, (Idle(), Admit("a", 1), Idle(), Step()))
    assert names(minimal(scenario, broken)) == ["admit", "step"]


def test_a_longer_prompt_or_longer_drafts_stand_for_steps_that_only_fill_a_row() -> None:
    def broken(scenario: Scenario) -> bool:  # an idle rank while a request may have grown to eight tokens
        model = Model(scenario.config)
        for operation in scenario.operations:
            if isinstance(operation, Idle) and max(model.reach.values(), default=0) >= 8:
                return True
            model.apply(operation)
        return False

    scenario = Scenario(CONFIG, (Admit("a", 2, (1, 1)), Step(), Step(), Idle()))
    assert minimal(scenario, broken).operations == (Admit("a", 7), Idle())


def test_of_those_tried_at_once_the_first_is_taken() -> None:
    def broken(scenario: Scenario) -> bool:
        return bool({"warmup", "idle"} & set(names(scenario)))

    scenario = Scenario(CONFIG, (Warmup(), Idle()))
    assert [names(minimal(scenario, broken, width)) for width in (1, 2, 5)] == [["warmup"]] * 3


def test_what_did_not_show_it_is_not_run_again() -> None:
    failed: list[Scenario] = []

    def shows(some: Sequence[Scenario]) -> list[bool]:
        assert not set(some) & set(failed)
        failed.extend(one for one in some if "step" not in names(one))
        return ["step" in names(one) for one in some]

    Minimiser(Scenario(CONFIG, (Capture(2), Admit("a", 4), Step(), Step(), Finish("a"))), shows, 3).run()
    assert len(failed) == len(set(failed))
