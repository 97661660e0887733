"""K05: rows that are not given back, or given back twice."""

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


def _preempted_keeps_slot(parts: Parts) -> Parts:
    return replace(parts, gives_back=lambda way, pool: (way, pool) != ("preempt", "slots"))


def _cancelled_keeps_pages(parts: Parts) -> Parts:
    return replace(parts, gives_back=lambda way, pool: (way, pool) != ("abort", "pages"))


def _released_twice(parts: Parts) -> Parts:
    def twice(pool: SlotPool, request: str) -> None:
        pool.release(request)  # when its context is sent off
        pool.release(request)  # when it ends

    return replace(parts, give_back=twice)


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
    Fault(
        "preempted-keeps-slot", "K05", "#18115",
        "a preempted request's slot is never taken back: one of the loops does not look at the paused ones",
        _preempted_keeps_slot,
    ),
    Fault(
        "cancelled-keeps-pages", "K05", "SGLang PR 20182",
        "of the ways in which a request can leave, cancelling it gives no pages back",
        _cancelled_keeps_pages,
    ),
    Fault(
        "released-twice", "K05", "TensorRT-LLM PR 12816",
        "two ends of one request's life both give its slot back",
        _released_twice,
    ),
)  # fmt: skip
