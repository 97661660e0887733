"""I-SEEDED: batch rows read the rows of their requests, and drafts read what was written."""

from __future__ import annotations

from dataclasses import replace

from handmade import OPERATIONS, SLOT_MAP, SLOTS, STEPPED, judged, snapshot

from harness.invariants import reads_own_context
from harness.scenario import Admit, AdmitDisaggregated, Step
from harness.trace import Snapshot

A = STEPPED["a"]  # emitted one token in its step


def _visible(count: int | None) -> Snapshot:
    return snapshot(requests={"a": replace(A, visible=count)})


def test_a_batch_row_that_points_at_its_requests_row_holds() -> None:
    assert judged(reads_own_context, snapshot()) == []


def test_a_batch_row_on_anothers_row_names_both() -> None:
    (violation,) = judged(reads_own_context, snapshot(graph_inputs=(replace(SLOT_MAP, live=(1,)),)))
    assert (violation.rule, violation.buffer, violation.row, violation.request) == (
        "not-its-row", "worker.batch_to_slot", 1, "a",
    )  # fmt: skip
    assert (violation.expected, violation.seen) == ("0", "1")
    assert violation.message == "batch row 0 is a and points at row 1, b's; a owns row 0"


def test_a_batch_row_on_the_dummy_or_a_free_row_says_whose_it_is() -> None:
    for row, whose in ((3, "the dummy's"), (2, "nobody's")):
        (violation,) = judged(reads_own_context, snapshot(graph_inputs=(replace(SLOT_MAP, live=(row,)),)))
        assert f"points at row {row}, {whose}" in violation.message


def test_a_request_without_a_row_is_named_wherever_it_points() -> None:
    unowned = replace(SLOTS, owners={"b": 1}, free=(0, 2))
    (violation,) = judged(reads_own_context, snapshot(pools=(unowned,)))
    assert (violation.expected, violation.seen) == ("no row", "0")
    assert violation.message.endswith("a owns none")


def test_the_map_is_judged_after_steps_alone_since_a_prefill_does_not_use_it() -> None:
    wrong = snapshot(operation=0, graph_inputs=(replace(SLOT_MAP, live=(1,)),))
    assert judged(reads_own_context, wrong) == []


def test_a_draft_may_attend_to_prompt_and_committed_tokens_and_no_more() -> None:
    # prompt 4, then one token committed in the step
    assert judged(reads_own_context, _visible(None)) == []
    assert judged(reads_own_context, _visible(5)) == []
    (violation,) = judged(reads_own_context, _visible(6))
    assert (violation.rule, violation.request, violation.expected, violation.seen) == (
        "unwritten", "a", "at most 5", "6",
    )  # fmt: skip


def test_a_context_from_elsewhere_or_a_prefix_hit_counts_as_unwritten() -> None:
    elsewhere = (AdmitDisaggregated("a", 4), OPERATIONS[1], Step(("a",)))
    hit = (Admit("a", 4, cached=3), OPERATIONS[1], Step(("a",)))
    assert judged(reads_own_context, _visible(1), operations=elsewhere) == []
    assert judged(reads_own_context, _visible(2), operations=elsewhere)[0].expected == "at most 1"
    assert judged(reads_own_context, _visible(2), operations=hit) == []
    assert judged(reads_own_context, _visible(3), operations=hit)[0].expected == "at most 2"
