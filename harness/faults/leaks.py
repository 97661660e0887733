"""K05: rows that are not given back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["LEAK_FAULTS"]

_WARMUP = "warm-up "


def _warmup_keeps_slots(parts: Parts) -> Parts:
    def stale(pool: SlotPool, batch: Sequence[str]) -> list[str]:
        # As upstream: what no batch brings along any more loses its slot, but only with the next batch.
        return [owner for owner in pool.owners if owner.startswith(_WARMUP) and owner not in batch]

    return replace(
        parts,
        warmup_requests=lambda rows: tuple(f"{_WARMUP}{row}" for row in range(rows)),
        let_go=stale,
    )


def _ended_keeps_slot(parts: Parts) -> Parts:
    return replace(parts, give_back=lambda pool, request: None)  # noqa: ARG005  # the call was never made


LEAK_FAULTS = (
    Fault(
        "warmup-keeps-slots", "K05", "observed: warm-up requests that keep slots",
        "warm-up requests carry ordinary ids, so they are given slots, and keep them until the next batch",
        _warmup_keeps_slots,
    ),
    Fault(
        "ended-keeps-slot", "K05", "nvbugs/5480289",
        "a request that ends gives its seat back, but not its slot in the worker's pool",
        _ended_keeps_slot,
    ),
)  # fmt: skip
