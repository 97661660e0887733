"""What the engine is assembled from. A fault replaces a part; the engine holds no fault switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from harness.engine.metadata import SpecMetadata, graph_copy
from harness.engine.slots import SlotPool

__all__ = ["Parts", "Revise"]

Tensor = torch.Tensor
# (request, anchor position, drafts) -> the drafts to verify instead
Revise = Callable[[str, int, list[int]], list[int]]


def pool_capacity(metadata: SpecMetadata) -> int:
    """Rows of the worker's pools: one for each seat, whatever batch happens to draft first."""
    return metadata.num_seq_slots


def padding_row(pool: SlotPool) -> int:
    """The row that padding reads and writes: the dummy, which nobody can own."""
    return pool.dummy


def write_rows(tensor: Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
    """Fill rows 0..padded of a graph input: the live ones, then the sentinel in every row of padding."""
    columns = tensor.shape[1:]
    tail: int | list[int] = [sentinel] * columns[0] if columns else sentinel
    rows = [*live, *[tail] * (padded - len(live))]
    tensor[:padded].copy_(torch.tensor(rows, dtype=tensor.dtype))


def accept_greedily(tokens: Tensor, chosen: Tensor) -> Tensor:
    """Return int64 [B], 1..K+1: the accepted drafts and the target's own next token.

    tokens [B,K+1] are anchor and drafts, chosen [B,K+1] the target's greedy choice after each of them.
    """
    agrees = (chosen[:, :-1] == tokens[:, 1:]).to(torch.int64)
    return agrees.cumprod(1).sum(1) + 1


def keep_drafts(request: str, position: int, drafts: list[int]) -> list[int]:  # noqa: ARG001  # the signature of Revise
    """Verify what the worker drafted."""
    return drafts


@dataclass(frozen=True)
class Parts:
    """Every decision that a known bug got wrong, one function each.

    revise  the last word on the drafts of a request, for drafters that are not a model (tests).
    """

    pool_capacity: Callable[[SpecMetadata], int] = pool_capacity
    graph_copy: Callable[[SpecMetadata, int], SpecMetadata] = graph_copy
    padding_row: Callable[[SlotPool], int] = padding_row
    write_rows: Callable[[Tensor, Sequence[int | list[int]], int, int], None] = write_rows
    accept: Callable[[Tensor, Tensor], Tensor] = accept_greedily
    revise: Revise = keep_drafts
