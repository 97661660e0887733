"""K10: state that is not there any more when its request comes back."""

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
)  # fmt: skip
