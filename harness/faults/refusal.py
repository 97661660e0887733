"""K15: a failed acquire is swallowed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from harness.engine import Parts
from harness.engine.pages import PagePool
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


def _no_pages_no_matter(parts: Parts) -> Parts:
    def more_pages(pool: PagePool, request: str, count: int) -> list[int]:
        try:
            return parts.more_pages(pool, request, count)
        except NoFreeSlotError:
            return []  # None, said the cache; the caller did not look

    # A pool of half the pages, as when two caches share a budget: it refuses long before the seats are full.
    return replace(parts, more_pages=more_pages, page_capacity=lambda config: parts.page_capacity(config) // 2)


def _eager_for_ever(parts: Parts) -> Parts:
    def exact(buckets: Collection[int], rows: int) -> int | None:
        # The padding dummy could not be had when the first padded batch came; nobody asks again.
        return rows if rows in buckets else None

    return replace(parts, fitting_bucket=exact)


REFUSAL_FAULTS = (
    Fault(
        "refusal-ignored", "K15", "#18343",
        "a request that is refused a slot is sent to the dummy row, with padding, and stays there",
        _refusal_ignored,
    ),
    Fault(
        "no-pages-no-matter", "K15", "TensorRT-LLM PR 17347",
        "the page pool says that it has none, and the forward goes on without",
        _no_pages_no_matter,
    ),
    Fault(
        "eager-for-ever", "K15", "TensorRT-LLM PR 16072",
        "padding could not be had once, so every batch that needs it runs without its graph from then on",
        _eager_for_ever,
    ),
)  # fmt: skip
