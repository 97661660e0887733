"""K10: speculative state that is not rolled back, or not there any more when its request comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["ROLLBACK_FAULTS"]

Tensor = torch.Tensor


def _absent_loses_slot(parts: Parts) -> Parts:
    def absent(pool: SlotPool, batch: Sequence[str]) -> list[str]:
        return [owner for owner in pool.owners if owner not in batch]

    return replace(parts, let_go=absent, handed_over=lambda position: (0, 0))  # noqa: ARG005  # starts anew


def _rejected_stay(parts: Parts) -> Parts:
    def accept(tokens: Tensor, chosen: Tensor) -> Tensor:
        # Every draft that agrees counts, also behind one that does not.
        return (chosen[:, :-1] == tokens[:, 1:]).sum(1) + 1

    return replace(parts, accept=accept)


def _state_of_all_drafts(parts: Parts) -> Parts:
    return replace(parts, roll_back=lambda checkpoints, count: checkpoints[:, -1])  # noqa: ARG005  # the bug


def _state_of_first_column(parts: Parts) -> Parts:
    def first_column(checkpoints: Tensor, count: Tensor) -> Tensor:
        # Where a step left its state depends on whether it had drafts; a prefill's is at its end.
        return checkpoints[:, 0] if checkpoints.shape[1] <= 4 else parts.roll_back(checkpoints, count)

    return replace(parts, roll_back=first_column)


def _window_keeps_rejected(parts: Parts) -> Parts:
    return replace(parts, ring_rows=lambda valid, new, old: new)  # noqa: ARG005  # the bug


def _resumed_without_context(parts: Parts) -> Parts:
    return replace(parts, resume_span=lambda request: (request.position, request.position))


def _unverified_accepted(parts: Parts) -> Parts:
    return replace(parts, committed=lambda count, lengths: count)  # noqa: ARG005  # the counter was skipped


ROLLBACK_FAULTS = (
    Fault(
        "absent-loses-slot", "K10", "observed: a live request absent from one batch",
        "a live request that one batch leaves out loses its slot, and comes back with an empty context",
        _absent_loses_slot,
    ),
    Fault(
        "rejected-stay", "K10", "vllm-ascend PR 17149",
        "drafts that agree behind a rejected one are counted, so rejected tokens stay in the context",
        _rejected_stay,
    ),
    Fault(
        "state-of-all-drafts", "K10", "llama.cpp PR 20075",
        "the recurrent state goes on from all drafts, the rejected ones included",
        _state_of_all_drafts,
    ),
    Fault(
        "state-of-first-column", "K10", "vLLM PR 52942",
        "the recurrent state is taken from the column of a step that accepted nothing",
        _state_of_first_column,
    ),
    Fault(
        "window-keeps-rejected", "K10", "vLLM PR 50272",
        "rows of rejected drafts stay in a rolling window, in the place of older tokens",
        _window_keeps_rejected,
    ),
    Fault(
        "resumed-without-context", "K10", "vLLM PR 30916",
        "after a preemption the target's context is rebuilt and the drafter's is not",
        _resumed_without_context,
    ),
    Fault(
        "unverified-accepted", "K10", "nvbugs/6625851",
        "what is rolled back is counted from drafts that agree, not from those that were to be verified",
        _unverified_accepted,
    ),
)  # fmt: skip
