"""K15: a failed acquire is swallowed."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.engine.slots import NoFreeSlotError, SlotPool
from harness.faults.base import Fault

__all__ = ["REFUSAL_FAULTS"]


def _refusal_ignored(parts: Parts) -> Parts:
    claim = parts.claim_row

    def claim_or_dummy(pool: SlotPool, request: str, position: int) -> tuple[int, bool]:
        try:
            return claim(pool, request, position)
        except NoFreeSlotError:
            return pool.dummy, True

    def retire(pool: SlotPool, request: str) -> None:
        # Rows come back with the next batch, so a full pool refuses whoever is admitted before it.
        if pool.row(request) is not None:
            pool.retire(request)

    return replace(parts, claim_row=claim_or_dummy, give_back=retire, row_without_slot=lambda pool: pool.dummy)


REFUSAL_FAULTS = (
    Fault(
        "refusal-ignored", "K15", "#18343",
        "a request that is refused a slot is sent to the dummy row, with padding, and stays there",
        _refusal_ignored,
    ),
)  # fmt: skip
