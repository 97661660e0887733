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
    agrees = chosen[:, :-1] == tokens[:, 1:]
    return agrees.cumprod(1).sum(1) + 1


def keep_drafts(request: str, position: int, drafts: list[int]) -> list[int]:  # noqa: ARG001  # the signature of Revise
    """Verify what the worker drafted."""
    return drafts


def claim_row(pool: SlotPool, request: str, position: int) -> tuple[int, bool]:  # noqa: ARG001  # a bug looked at it
    """Give `request`, whose context begins to be seen at `position`, a row, to be emptied if True."""
    return pool.acquire(request), True


def give_back(pool: SlotPool, request: str) -> None:
    """Take the row of a request that ended back, at once. It has none if it never was in a batch."""
    if pool.row(request) is not None:
        pool.release(request)


def row_without_slot(pool: SlotPool) -> int | None:  # noqa: ARG001  # where a bug sent such rows
    """The row of a request in the batch that owns none: None, it is given one now."""
    return None


def let_go(pool: SlotPool, batch: Sequence[str]) -> Sequence[str]:  # noqa: ARG001  # a bug looked at both
    """Requests that lose their row because of this batch: none, one that is absent from it keeps its own."""
    return ()


def handed_over(position: int) -> tuple[int, int]:
    """Length and first seen position of a context of `position` tokens that was computed elsewhere."""
    return position, position


def empty_dummy(lengths: Tensor, dummy: int) -> None:
    """Set the dummy row's length to 0 before a step: padding appends to it in every one."""
    lengths[dummy : dummy + 1].zero_()


def warmup_requests(rows: int) -> tuple[str, ...]:  # noqa: ARG001  # a bug made one a row
    """Requests that a warm-up of `rows` rows brings along: none, its rows are padding."""
    return ()


def prepares_at_once(first: bool) -> bool:  # noqa: ARG001  # where a bug said no
    """Whether a worker maps rows to slots before a forward; `first` is the one that allocates its pools."""
    return True


def unmapped_row(pool: SlotPool) -> int:
    """What the map of batch rows holds before any batch was mapped."""
    return pool.dummy


def survives_rebind() -> bool:
    """Whether requests keep their slots, and what is in them, when the cache's memory is replaced."""
    return True


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
    claim_row: Callable[[SlotPool, str, int], tuple[int, bool]] = claim_row
    give_back: Callable[[SlotPool, str], None] = give_back
    row_without_slot: Callable[[SlotPool], int | None] = row_without_slot
    let_go: Callable[[SlotPool, Sequence[str]], Sequence[str]] = let_go
    handed_over: Callable[[int], tuple[int, int]] = handed_over
    empty_dummy: Callable[[Tensor, int], None] = empty_dummy
    warmup_requests: Callable[[int], tuple[str, ...]] = warmup_requests
    prepares_at_once: Callable[[bool], bool] = prepares_at_once
    unmapped_row: Callable[[SlotPool], int] = unmapped_row
    survives_rebind: Callable[[], bool] = survives_rebind
