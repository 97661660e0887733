"""Every rule of the legality model refuses what it names, and what it allows can be continued."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawn import scenarios
from hypothesis import given

from harness.legality import IllegalScenarioError, Model, check, config_problem
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Prefill,
    Rebind,
    Resume,
    Scenario,
    Step,
    Warmup,
)

CONFIG = Config("dflash", num_seq_slots=3, max_num_requests=2, buckets=(1, 2), max_seq_len=16)

BAD_CONFIGS = [
    ({"worker": "eagle"}, "worker must be one of dflash, dspark, not 'eagle'"),
    ({"num_seq_slots": -1}, "num_seq_slots must be 0 (unset) or more"),
    ({"num_seq_slots": 0, "max_num_requests": 0}, "max_num_requests must be at least 1"),
    ({"num_seq_slots": 1}, "max_num_requests 2 exceeds the 1 seats"),
    ({"draft_len": 0}, "draft_len must be at least 1"),
    ({"max_seq_len": 4}, "max_seq_len leaves no room for one step"),
    ({"buckets": (1, 1)}, "buckets must differ from each other"),
    ({"buckets": (1, 3)}, "buckets must lie between 1 and max_num_requests, 2"),
    ({"buckets": (0,)}, "buckets must lie between 1 and max_num_requests, 2"),
    ({"overlap": True}, "overlap needs a second seat for each of a batch's requests that is ending, 4, not 3"),
    ({"page_size": -1}, "page_size must be 0 (dense rows) or more"),
    ({"verify": -1}, "verify must be 0 (every draft) or more"),
    ({"weights": "best"}, "weights must be trained, or left out, not 'best'"),
    ({"verify": 2}, "verify needs confidences, which dspark alone has"),
]


@pytest.mark.parametrize(("change", "why"), BAD_CONFIGS, ids=[why for _, why in BAD_CONFIGS])
def test_a_configuration_that_no_engine_can_have_is_refused(change: dict[str, object], why: str) -> None:
    config = replace(CONFIG, **change)  # type: ignore[arg-type]  # any field
    assert config_problem(config) == why
    with pytest.raises(IllegalScenarioError, match=r"^config: "):
        check(Scenario(config, ()))


def test_unset_seats_fall_back_to_the_rows_of_a_batch() -> None:
    assert replace(CONFIG, num_seq_slots=0).seats == 2
    assert config_problem(replace(CONFIG, num_seq_slots=0)) is None


A, B, C = Admit("a", 4), Admit("b", 4), Admit("c", 4)
PAUSED = Admit("a", 4, (1, 3), None, True)
REFUSED: list[tuple[tuple[Operation, ...], Operation, str]] = [
    ((), Capture(3), "bucket 3 is not one of the configured [1, 2]"),
    ((Capture(2),), Capture(2), "bucket 2 is captured already"),
    ((), Warmup(4), "bucket 4 is not one of the configured [1, 2]"),
    ((), Admit("a", 0), "a prompt has at least one token"),
    ((), Admit("a", 16), "16 prompt tokens and the first new one exceed max_seq_len 16"),
    ((), Admit("a", 4, (2, 3)), "chunks [2, 3] do not add up to prompt_len 4"),
    ((), Admit("a", 4, (4, 0)), "chunks [4, 0] do not add up to prompt_len 4"),
    ((), Admit("a", 4, (), 4), "cached 4 leaves nothing of prompt_len 4 to compute"),
    ((), Admit("a", 4, (), -1), "cached -1 leaves nothing of prompt_len 4 to compute"),
    ((), Admit("a", 4, (2, 2), 1), "chunks [2, 2] do not add up to prompt_len 4 less cached 1"),
    ((), Admit("a", 4, (4,), None, True), "pause needs at least two chunks: one now, the others by prefill"),
    ((), Prefill("a"), "request 'a' is not running"),
    ((A,), Prefill("a"), "request 'a' has no chunk left to prefill"),
    ((PAUSED, Prefill("a")), Prefill("a"), "request 'a' has no chunk left to prefill"),
    ((PAUSED, Preempt("a")), Prefill("a"), "request 'a' is not running"),
    ((PAUSED,), Step(), "a step needs at least one running request"),
    ((PAUSED,), Step(("a",)), "request 'a' has chunks left to prefill"),
    ((PAUSED,), Finish("a"), "request 'a' has chunks left to prefill; it can only be aborted"),
    ((PAUSED,), Admit("a", 4), "request 'a' is admitted already"),
    ((A,), Admit("a", 4), "request 'a' is admitted already"),
    ((A,), AdmitDisaggregated("a", 4), "request 'a' is admitted already"),
    ((), AdmitDisaggregated("a", 0), "a prompt has at least one token"),
    ((A, B, C), Admit("d", 4), "all 3 seats are taken"),
    ((A, B, C), AdmitDisaggregated("d", 4), "all 3 seats are taken"),
    ((A, Preempt("a")), Admit("a", 4), "request 'a' is admitted already"),
    ((), Step(), "a step needs at least one running request"),
    ((A,), Step(()), "a step needs at least one running request"),
    ((A,), Step(("a", "a")), "a request is named twice"),
    ((A,), Step(("b",)), "request 'b' is not running"),
    ((A, Preempt("a")), Step(("a",)), "request 'a' is not running"),
    ((A, B, C), Step(), "3 requests exceed max_num_requests 2"),
    ((A,), Step(graph=True), "no captured bucket holds 1 requests"),
    ((A, B, Capture(1)), Step(graph=True), "no captured bucket holds 2 requests"),
    ((A, Capture(1), DraftLen(0)), Step(graph=True), "no captured bucket holds 1 requests"),
    ((A, Capture(1), Rebind()), Step(graph=True), "no captured bucket holds 1 requests"),
    ((A, Step(), Step()), Step(), "request 'a' may pass max_seq_len 16 in this step"),
    ((), Finish("a"), "request 'a' was never admitted or has ended"),
    ((A, Finish("a")), Abort("a"), "request 'a' was never admitted or has ended"),
    ((), Preempt("a"), "request 'a' is not running"),
    ((A, Preempt("a")), Preempt("a"), "request 'a' is not running"),
    ((A,), Resume("a"), "request 'a' is not preempted"),
    ((A, Preempt("a"), B, C, Admit("d", 4)), Resume("a"), "all 3 seats are taken"),
    ((A, Preempt("a"), Abort("a")), Resume("a"), "request 'a' is not preempted"),
    ((), DraftLen(4), "k must lie between 0 and draft_len, 3"),
    ((), DraftLen(-1), "k must lie between 0 and draft_len, 3"),
]


@pytest.mark.parametrize(("before", "operation", "why"), REFUSED, ids=[f"{op}: {why}" for _, op, why in REFUSED])
def test_an_operation_that_may_not_come_next_is_refused(
    before: tuple[Operation, ...], operation: Operation, why: str
) -> None:
    check(Scenario(CONFIG, before))
    with pytest.raises(IllegalScenarioError) as caught:
        check(Scenario(CONFIG, (*before, operation, Warmup())))
    assert (caught.value.index, caught.value.why) == (len(before), why)
    assert str(caught.value) == f"operation {len(before)}, {operation}: {why}"


ALLOWED: list[tuple[Operation, ...]] = [
    (Warmup(), Capture(2), Capture(1), Warmup(2)),
    (A, Finish("a"), A, Abort("a"), A),
    (A, B, C, Step(("a", "c")), Step(("b",))),
    (A, Preempt("a"), B, C, Admit("d", 4), Finish("d"), Resume("a"), Step(("a",))),
    (A, Preempt("a"), Finish("a"), A),
    (PAUSED, B, Step(), Prefill("a"), Step()),
    (PAUSED, Preempt("a"), Resume("a"), Prefill("a"), Step()),
    (PAUSED, Abort("a"), A, Step()),
    (PAUSED, Preempt("a"), Abort("a"), PAUSED, Prefill("a")),
    (AdmitDisaggregated("a", 14),),
    (A, DraftLen(0), *[Step()] * 9),  # one token a step while nothing is drafted
    (Idle(), A, Idle(dp_dummy=True)),
    (A, Capture(1), Step(graph=True), Step(graph=False)),
    (A, Capture(1), DraftLen(0), Capture(1), Step(graph=True), DraftLen(3), Step(graph=True)),
    (Capture(1), Rebind(), Capture(1), Admit("a", 4, (1, 2), 1), Step(graph=True)),
]


@pytest.mark.parametrize("operations", ALLOWED, ids=[" ".join(map(str, ops)) for ops in ALLOWED])
def test_what_an_engine_may_be_asked_is_allowed(operations: tuple[Operation, ...]) -> None:
    check(Scenario(CONFIG, operations))


@given(scenarios())
def test_the_model_never_seats_more_than_there_are_seats(scenario: Scenario) -> None:
    check(scenario)
    model = Model(scenario.config)
    for operation in scenario.operations:
        model.apply(operation)
        assert len(model.running) <= scenario.config.running_limit
        assert model.chunks_left.keys() <= model.reach.keys()
        assert set(model.running) | model.preempted == set(model.reach)
        assert all(length <= scenario.config.max_seq_len for length in model.reach.values())


def test_an_operation_tells_its_fields_and_leaves_out_what_is_unset() -> None:
    assert str(Admit("r0", 4, (1, 3))) == "admit(request=r0, prompt_len=4, chunks=1+3)"
    assert str(Step()) == "step()"
    assert str(Step(("a", "b"), graph=False)) == "step(requests=a+b, graph=False)"


def test_with_overlap_a_batch_may_run_and_the_other_seats_are_head_room() -> None:
    config = replace(CONFIG, num_seq_slots=4, overlap=True)
    check(Scenario(config, (A, B, Step(), Finish("a"), C, Step())))
    with pytest.raises(IllegalScenarioError, match="all 2 places of a batch are taken"):
        check(Scenario(config, (A, B, C)))


def test_the_capture_order_of_a_scenario_is_the_order_of_its_captures() -> None:
    assert Scenario(CONFIG, (Capture(2), A, Capture(1))).capture_order == (2, 1)
