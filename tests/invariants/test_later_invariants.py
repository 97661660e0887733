"""The invariants of rows, results and budgets, each holding and broken: I-ROOM, I-FRESH, I-SPACE, I-ROLLBACK,
I-GEN, I-FIELD, I-BUDGET, I-REPR, and I-BAKED in a capture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CONFIG, CONTEXT, HEALTHY, MAP, OPERATIONS, SLOT_MAP, SLOTS, STEPPED, TOKENS, judged, snapshot

from harness.invariants import (
    Monitor,
    fields_survive_copies,
    forwards_keep_to_their_budget,
    graphs_read_present_storage,
    indices_are_representable,
    pools_have_room,
    results_meet_their_owner,
    rows_are_reset,
    states_are_rolled_back,
    writes_land_in_own_rows,
)
from harness.scenario import Admit, Capture, Preempt, Resume, Scenario, Step
from harness.trace import Event, EventKind, MetadataField, Outcome, Pool, Snapshot, Trace, Violation

A = STEPPED["a"]
REFUSED = Event(EventKind.REFUSE, "slots", "c")


def _roomy(free: tuple[int, ...], retiring: tuple[int, ...], overlap: bool = True) -> list[Violation]:
    config = replace(CONFIG, num_seq_slots=6, overlap=overlap)
    pool = replace(SLOTS, capacity=6, free=free, retiring=retiring)
    return judged(pools_have_room, snapshot(pools=(pool,)), config=config)


def test_rows_that_retire_leave_room_for_whoever_may_come() -> None:
    assert _roomy(free=(3, 4, 5), retiring=(2,)) == []
    assert _roomy(free=(5,), retiring=(2, 3, 4)) == []  # two run, one more may come


def test_a_pool_whose_rows_all_retire_has_no_room() -> None:
    (violation,) = _roomy(free=(), retiring=(2, 3, 4, 5))
    assert (violation.invariant, violation.rule, violation.buffer) == ("I-ROOM", "head-room", "slots")
    assert (violation.expected, violation.seen) == ("at least 1 free", "0")
    assert _roomy(free=(), retiring=(2, 3, 4, 5), overlap=False) == []  # they come back before the next batch


def _ended(left: Snapshot | None, outcome: Outcome = Outcome.ERROR) -> list[Violation]:
    scenario = Scenario(CONFIG, OPERATIONS)
    monitor = Monitor(scenario)
    return monitor.ended(Trace(scenario, "embedded", "cpu", outcome=outcome, at=2, left=left))


def test_an_error_in_which_a_full_pool_refused_is_named_by_the_lack_of_room() -> None:
    full = replace(SLOTS, owners={"a": 0, "b": 1}, free=(), retiring=(2,))
    (violation,) = _ended(snapshot(pools=(full,), events=(REFUSED,)))
    assert (violation.invariant, violation.rule, violation.request) == ("I-ROOM", "refused", "c")
    assert violation.message == "pool slots refused c a row: 3 of 3 rows are held, 1 of them retiring"


def test_an_error_in_which_a_pool_refused_a_row_that_was_free_is_named_by_that_row() -> None:
    (violation,) = _ended(snapshot(pools=(replace(SLOTS, owners={"a": 1, "b": 2}, free=(0,)),), events=(REFUSED,)))
    assert (violation.invariant, violation.rule, violation.row) == ("I-REPR", "refused", 0)


def test_an_error_is_named_by_the_pool_or_map_that_was_too_small_for_it() -> None:
    small = replace(SLOTS, capacity=2, dummy=2, free=())
    narrow = replace(MAP, name="inputs.tokens", space="batch", rows=2)
    found = _ended(snapshot(pools=(small,), buffers=(CONTEXT, narrow), events=(REFUSED,)))
    assert [(v.invariant, v.rule, v.buffer) for v in found] == [
        ("I-CAP", "capacity", "slots"), ("I-CAP", "batch", "inputs.tokens"), ("I-ROOM", "refused", "slots"),
    ]  # fmt: skip


def test_an_error_that_left_nothing_wrong_or_nothing_at_all_is_only_quoted() -> None:
    assert _ended(snapshot()) == []
    assert _ended(None) == []


def test_what_probes_found_is_told_by_the_invariant_that_it_is_of() -> None:
    reset = Violation("I-FRESH", "not-reset", "row 1 was given", 2, "0", "other", "worker.state", 1)
    guard = replace(reset, invariant="I-SPACE", rule="guard")
    now = snapshot(findings=(reset, guard))
    assert [v.rule for v in judged(rows_are_reset, now)] == ["not-reset"]
    assert [v.rule for v in judged(writes_land_in_own_rows, now)] == ["guard"]


def _both(digests: tuple[int, ...], **changes: object) -> list[Violation]:
    operations = (*OPERATIONS, Step(("a", "b")))
    now = snapshot(
        operation=3,
        batch=("a", "b"),
        padded=2,
        buffers=(replace(CONTEXT, digests=digests, **changes), MAP),  # type: ignore[arg-type]  # fields of a buffer
        requests={"a": replace(A, position=A.position + 1)},
    )
    return judged(writes_land_in_own_rows, now, before=HEALTHY, operations=operations)


def test_a_step_that_writes_the_rows_of_all_its_requests_or_of_none_holds() -> None:
    assert _both((11, 21, 30, 40)) == []
    assert _both((10, 20, 30, 41)) == []  # the dummy's alone
    assert _both((10, 21, 30, 40), data=False) == []  # a cursor may change for one and not for the other


def test_a_step_that_misses_the_row_of_one_of_its_requests_names_it() -> None:
    (violation,) = _both((10, 21, 31, 40))
    assert (violation.invariant, violation.rule, violation.request, violation.row) == ("I-SPACE", "missed", "a", 0)


def test_a_request_resumes_where_it_was_and_with_the_state_of_that_position() -> None:
    operations = (*OPERATIONS, Preempt("a"), Resume("a"))
    stepped = replace(HEALTHY, requests={"a": replace(A, state=7)})

    def resumed(position: int, state: int) -> list[Violation]:
        shown = {"a": replace(A, position=position, emitted=(), state=state)}
        now = snapshot(operation=4, requests=shown, batch=(), padded=0)
        return judged(states_are_rolled_back, now, before=stepped, operations=operations)

    assert resumed(5, 7) == []
    assert [(v.rule, v.expected, v.seen) for v in resumed(4, 7)] == [("resumed-elsewhere", "5", "4")]
    assert [(v.rule, v.request) for v in resumed(5, 8)] == [("state", "a")]


def test_more_drafts_accepted_than_verified_are_named() -> None:
    assert judged(states_are_rolled_back, snapshot(requests={"a": replace(A, accepted=1, verified=1)})) == []
    (violation,) = judged(states_are_rolled_back, snapshot(requests={"a": replace(A, accepted=2, verified=1)}))
    assert (violation.invariant, violation.rule) == ("I-ROLLBACK", "unverified")


COUNTED = replace(SLOTS, generations=(3, 1, 0))


@pytest.mark.parametrize(("generation", "rules"), [(3, []), (None, []), (2, ["generation"])])
def test_a_result_is_of_the_present_generation_of_its_seat(generation: int | None, rules: list[str]) -> None:
    now = snapshot(pools=(COUNTED,), requests={"a": replace(A, generation=generation)})
    assert [v.rule for v in judged(results_meet_their_owner, now)] == rules


def test_a_result_for_a_request_that_is_not_live_comes_late() -> None:
    (violation,) = judged(results_meet_their_owner, snapshot(requests={"z": A}))
    assert (violation.invariant, violation.rule, violation.request) == ("I-GEN", "late", "z")


def test_a_row_that_is_given_and_not_counted_is_named() -> None:
    given = Event(EventKind.ACQUIRE, "slots", "a", 0)
    before, now = snapshot(operation=1, pools=(COUNTED,)), snapshot(pools=(COUNTED,), events=(given,))
    (violation,) = judged(results_meet_their_owner, now, before=before)
    assert (violation.rule, violation.expected, violation.seen) == ("uncounted", "generation 4", "generation 3")
    counted = replace(now, pools=(replace(COUNTED, generations=(4, 1, 0)),))
    assert judged(results_meet_their_owner, counted, before=before) == []


@pytest.mark.parametrize(
    ("field", "rules"),
    [
        (MetadataField("num_seq_slots", "shared", ("3",), ("3",)), []),
        (MetadataField("max_num_requests", "owned", ("3",), ("2",)), []),
        (MetadataField("num_tokens", "rebuilt", ("8",), None), []),
        (MetadataField("request_ids", "per-request", ("a",), ("a",)), []),
        (MetadataField("num_seq_slots", "shared", ("3",), ("2",)), ["copy"]),
        (MetadataField("num_tokens", "rebuilt", ("8",), ("4",)), ["copy"]),
        (MetadataField("request_ids", "per-request", ("a",), ("b",)), ["copy"]),
        (MetadataField("positions", "per-request", ("4", "5"), None), ["length"]),
    ],
    ids=str,
)
def test_fields_are_the_same_in_copies_and_as_long_as_the_batch(field: MetadataField, rules: list[str]) -> None:
    found = judged(fields_survive_copies, snapshot(fields=(field,)))
    assert [(v.rule, v.buffer) for v in found] == [(rule, field.name) for rule in rules]


def test_a_forward_that_uses_more_than_was_reserved_or_than_a_batch_has_is_named() -> None:
    def used(tokens: int, rows: int) -> list[str]:
        now = snapshot(reserved={"tokens": 8, "rows": 4}, consumed={"tokens": tokens, "rows": rows})
        return [f"{v.invariant} {v.rule} {v.buffer}" for v in judged(forwards_keep_to_their_budget, now)]

    assert used(8, 3) == []
    assert used(9, 3) == ["I-BUDGET overrun tokens"]
    assert used(8, 4) == ["I-BUDGET batch rows"]
    (violation,) = judged(forwards_keep_to_their_budget, snapshot(consumed={"pages": 1}))
    assert violation.expected == "at most 0"


def test_an_offset_past_its_integer_is_named_and_the_last_that_fits_is_not() -> None:
    def reach(rows: int, stride: int) -> list[Violation]:
        wide = replace(CONTEXT, rows=rows, stride=stride, index_bits=32)
        return judged(indices_are_representable, snapshot(buffers=(wide,)))

    assert reach(1 + (1 << 15), (1 << 16) - 1) == []
    (violation,) = reach(1 + (1 << 15), 1 << 16)
    assert (violation.invariant, violation.rule, violation.buffer) == ("I-REPR", "overflow", "worker.context")


def test_a_sentinel_that_is_a_row_and_a_map_too_narrow_for_its_rows_are_named() -> None:
    (violation,) = judged(
        indices_are_representable, snapshot(graph_inputs=(replace(SLOT_MAP, sentinel=0), TOKENS))
    )
    assert (violation.rule, violation.row, violation.expected) == ("sentinel", 0, "a value outside 0..2")
    config = replace(CONFIG, num_seq_slots=200)
    (narrow,) = judged(indices_are_representable, snapshot(graph_inputs=(replace(SLOT_MAP, bits=8, sentinel=-1),)),
                       config=config)  # fmt: skip
    assert narrow.rule == "narrow"


def test_a_request_that_is_given_a_second_row_beside_row_zero_is_named() -> None:
    moved: Pool = replace(SLOTS, owners={"a": 2, "b": 1}, free=())
    before, now = snapshot(operation=1), snapshot(pools=(moved,))
    (violation,) = judged(indices_are_representable, now, before=before)
    assert (violation.rule, violation.request, violation.expected, violation.seen) == ("moved", "a", "0", "2")
    let_go = replace(now, events=(Event(EventKind.RELEASE, "slots", "a", 0),))
    assert judged(indices_are_representable, let_go, before=before) == []


def test_a_buffer_that_moves_while_a_graph_is_captured_is_named() -> None:
    operations = (Capture(2), Capture(3), Admit("a", 4))
    before = snapshot(operation=0, batch=(), graph=None, requests={})
    now = replace(before, operation=1, buffers=(replace(CONTEXT, generation=1), MAP))
    (violation,) = judged(graphs_read_present_storage, now, before=before, operations=operations)
    assert (violation.invariant, violation.rule, violation.buffer) == ("I-BAKED", "allocated", "worker.context")


def test_requests_verify_together_no_more_than_a_step_is_granted() -> None:
    config = replace(CONFIG, worker="dspark", verify=2)
    both = {"a": replace(A, verified=1), "b": replace(A, verified=1)}
    assert judged(forwards_keep_to_their_budget, snapshot(requests=both), config=config) == []
    both["b"] = replace(A, verified=2)
    (violation,) = judged(forwards_keep_to_their_budget, snapshot(requests=both), config=config)
    assert (violation.rule, violation.expected, violation.seen) == ("verified", "at most 2", "3")
