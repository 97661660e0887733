"""Planted defects of how rows are given and named: who gets one, who is refused, and what a row still holds."""

from __future__ import annotations

from typing import Any

import torch

from harness.targets.sglang.assembly import Parts

__all__ = ["freed_a_step_late", "length_survives", "refusal_ignored", "reuse_uncounted", "view_into_free_list"]


def freed_a_step_late(parts: Parts) -> None:
    """Rows that come back wait for the step in flight, and the pool has none beside those of live requests."""
    pool, worker = parts.pools.requests, parts.worker
    give_back, forward = pool.free_rows, worker.forward_batch_generation
    ended: list[int] = []

    def forwarded(*args: Any, **options: Any) -> Any:
        result = forward(*args, **options)
        give_back(list(ended))
        ended.clear()
        return result

    pool.free_rows, worker.forward_batch_generation = ended.extend, forwarded


def refusal_ignored(parts: Parts) -> None:
    """The pool's "none" is not looked at, and the request has no row but padding's. The pool is full as above."""
    freed_a_step_late(parts)
    module = parts.tree.allocation

    def allocated(pool: Any, requests: list[Any], _cache: Any) -> list[int]:
        if pool.alloc(requests) is None:
            for request in requests:
                request.kv.req_pool_idx = 0
        return [request.kv.req_pool_idx for request in requests]

    parts.undo.callback(setattr, module, "alloc_req_slots", module.alloc_req_slots)
    module.alloc_req_slots = allocated


def length_survives(parts: Parts) -> None:
    """That a row's length was published is remembered by row, so that of its next owner's prompt never is."""
    worker = parts.worker
    forward = worker.forward_batch_generation
    seeded: set[int] = set()

    def forwarded(batch: Any, on_publish: Any = None, **options: Any) -> Any:
        rows = set(batch.req_pool_indices_cpu.tolist())
        starts = batch.forward_mode.is_extend() and not any(batch.prefix_lens)
        known = rows <= seeded
        seeded.update(rows)
        return forward(batch, on_publish=None if starts and known else on_publish, **options)

    worker.forward_batch_generation = forwarded


def reuse_uncounted(parts: Parts) -> None:
    """A row is given without its generation going up."""
    pool = parts.pools.requests
    give = pool.alloc_rows

    def given(count: int) -> Any:
        rows = give(count)
        pool.req_generation[rows or []] -= 1
        return rows

    pool.alloc_rows = given


def view_into_free_list(parts: Parts) -> None:
    """The free list is a tensor used as a stack, and what is handed out is a view of its cell, not the value."""
    pool = parts.pools.requests
    stack, free = torch.tensor(pool.free_slots), len(pool.free_slots)

    def show() -> None:
        pool.free_slots = stack[:free].tolist()

    def alloc_rows(count: int) -> list[torch.Tensor] | None:
        nonlocal free
        if count > free:
            return None
        free -= count
        views = list(stack[free : free + count])
        pool.req_generation[[int(view) for view in views]] += 1
        show()
        return views

    def free_rows(rows: list[torch.Tensor]) -> None:
        nonlocal free
        for row in rows:
            stack[free] = int(row)
            free += 1
        show()

    pool.alloc_rows, pool.free_rows = alloc_rows, free_rows
