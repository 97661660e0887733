"""K11: a graph keeps what was true at its capture."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["BAKED_FAULTS"]


def _rebind_drops_slots(parts: Parts) -> Parts:
    allocated: list[SlotPool] = []

    def unmapped(pool: SlotPool) -> int:
        allocated.append(pool)
        return pool.dummy if len(allocated) == 1 else 0  # the second map is a tensor of zeros

    def prepares(first: bool) -> bool:
        # Allocated anew inside a forward, whose rows were mapped in the old pools.
        return not first or len(allocated) == 1

    return replace(parts, survives_rebind=lambda: False, prepares_at_once=prepares, unmapped_row=unmapped)


BAKED_FAULTS = (
    Fault(
        "rebind-drops-slots", "K11", "observed: a draft KV manager replaced under live requests",
        "when the cache's memory is replaced all slots are dropped, and captured graphs read the old tensors",
        _rebind_drops_slots,
    ),
)  # fmt: skip
