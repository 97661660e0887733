"""Operations in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from traces import trace

from harness.report.story import setting, told
from harness.scenario import (
    OPERATIONS,
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
    Step,
    Warmup,
)  # fmt: skip

WORDS: list[tuple[Operation, str]] = [
    (Capture(4), "capture the graph for 4"),
    (Warmup(), "eager warm-up"),
    (Warmup(2), "warm-up in the shape of 2"),
    (Admit("a", 4), "a comes, prompt of 4"),
    (Admit("a", 4, (3, 1), 2, True), "a comes, prompt of 4 in chunks 3+1, 2 cached, then pauses"),
    (AdmitDisaggregated("a", 4), "a is handed over, 4 tokens"),
    (Prefill("a"), "a prefills its next chunk"),
    (Step(), "all step"),
    (Step(("a",), graph=False), "a steps, eagerly"),
    (Step(("a", "b"), graph=True), "a, b step, on a graph"),
    (Step(("a", "b", "c")), "3 requests step"),
    (Finish("a"), "a finishes"),
    (Abort("a"), "a is aborted"),
    (Preempt("a"), "a loses its seat for a while"),
    (Resume("a"), "a resumes"),
    (Idle(), "nobody is here"),
    (Idle(True), "nobody is here: a dummy runs"),
    (DraftLen(1), "draft length becomes 1"),
    (Rebind(), "the cache's memory is replaced"),
]


@pytest.mark.parametrize(("operation", "words"), WORDS, ids=str)
def test_an_operation_is_told_in_words(operation: Operation, words: str) -> None:
    assert told(operation) == words


def test_no_operation_is_left_out() -> None:
    assert {type(operation) for operation, _ in WORDS} == set(OPERATIONS.values())


def test_a_step_says_what_it_came_to() -> None:
    step = trace().snapshots[2]
    assert told(Step(("a",)), step) == "a steps, graph 2, 1 padding"
    assert told(Step(("a",)), replace(step, graph=None, padded=1)) == "a steps eagerly"


def test_the_setting_names_seats_batches_graphs_and_options() -> None:
    assert setting(Config("dspark", 0, 4, (), sampling=True)) == (
        "A dspark worker with no seat count (num_seq_slots unset), batches of up to 4, no graphs, "
        "3 drafts a step, with sampling."
    )
    assert "6 seats, batches of up to 5, graphs for 1, 2," in setting(Config("dspark", 6, 5, (1, 2)))
