"""K16: how an index is represented: zero that counts as none, a narrow integer, a view."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["REPRESENTATION_FAULTS"]


def _zero_is_none(parts: Parts) -> Parts:
    return replace(parts, known_slot=lambda pool, request: pool.owned(request) or None)


def _narrow_offsets(parts: Parts) -> Parts:
    def row_offsets(seats: torch.Tensor, stride: int) -> torch.Tensor:
        # Eight bits for a pool of a dozen rows, as 32 for one of millions.
        return seats.to(torch.int8) * stride

    return replace(parts, row_offsets=row_offsets)


def _view_into_free_list(parts: Parts) -> Parts:
    stack: dict[int, int] = {}  # what the cells of the free list hold, by how many rows are taken
    cell: dict[str, int] = {}  # a request keeps a view of the cell that its row came from

    def claim_row(pool: SlotPool, request: str, position: int) -> tuple[int, bool]:
        row, fresh = parts.claim_row(pool, request, position)
        cell[request] = len(pool.owners)
        stack[cell[request]] = row
        return row, fresh

    def give_back(pool: SlotPool, request: str) -> None:
        stack[len(pool.owners)] = pool.row(request) or 0
        parts.give_back(pool, request)

    def known_slot(pool: SlotPool, request: str) -> int | None:
        return stack[cell[request]] if request in pool.owners else None

    return replace(parts, claim_row=claim_row, give_back=give_back, known_slot=known_slot)


REPRESENTATION_FAULTS = (
    Fault(
        "slot-zero-is-none", "K16", "nvbugs/5245262",
        "slot 0 counts as no slot, so its request is given another one in every step",
        _zero_is_none,
    ),
    Fault(
        "narrow-offsets", "K16", "vLLM PR 35275",
        "row times stride is computed in an integer that is too narrow for the last rows, and wraps",
        _narrow_offsets,
    ),
    Fault(
        "view-into-free-list", "K16", "Megatron-LM PR 6584",
        "a slot's number is a view into the free list, and another request's end writes that very cell",
        _view_into_free_list,
    ),
)  # fmt: skip
