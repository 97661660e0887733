"""K10: state that is not there any more when its request comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["ROLLBACK_FAULTS"]


def _absent_loses_slot(parts: Parts) -> Parts:
    def absent(pool: SlotPool, batch: Sequence[str]) -> list[str]:
        return [owner for owner in pool.owners if owner not in batch]

    return replace(parts, let_go=absent, handed_over=lambda position: (0, 0))  # noqa: ARG005  # starts anew


ROLLBACK_FAULTS = (
    Fault(
        "absent-loses-slot", "K10", "observed: a live request absent from one batch",
        "a live request that one batch leaves out loses its slot, and comes back with an empty context",
        _absent_loses_slot,
    ),
)  # fmt: skip
