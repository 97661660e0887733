"""Row digests: a position-weighted sum of a row's bits, computed where the tensor is, one transfer for all.

The weights are odd and differ by position, so a constant row, a moved value and a zero row all differ
(an exclusive or of the same bits would miss all three). A double such as 2.0 is one high bit, which an even sum
of weights would push out of 64: the high half of eight bytes is first folded onto the low one (an xorshift, which
loses nothing).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

__all__ = ["row_digests", "rows_first"]

Tensor = torch.Tensor
_BITS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 / golden ratio: multiples are spread evenly


def rows_first(tensor: Tensor, row_dim: int, entries: int) -> Tensor:
    """Return a view [rows, ...] of `tensor`: its row dimension in front, a row's entries joined to it."""
    moved = tensor.movedim(row_dim, 0)
    return moved if entries == 1 else moved.unflatten(0, (-1, entries))


def row_digests(rows: Sequence[Tensor]) -> list[tuple[int, ...]]:
    """Return the digests of several [rows, ...] tensors, one integer a row. Empty tensors have none."""
    if not rows:
        return []
    sums = [_sums(tensor) for tensor in rows]
    values = torch.cat(sums).tolist()
    result, start = [], 0
    for tensor in sums:
        result.append(tuple(values[start : start + tensor.shape[0]]))
        start += tensor.shape[0]
    return result


def _sums(tensor: Tensor) -> Tensor:
    flat = tensor.reshape(tensor.shape[0], -1).contiguous().view(_BITS[tensor.element_size()])
    if flat.dtype is torch.int64:
        flat = flat ^ (flat >> 32)
    return (flat * _weights(flat.shape[1], str(flat.device))).sum(1)


@cache
def _weights(length: int, device: str) -> Tensor:
    return (torch.arange(length, dtype=torch.int64, device=device) * _GOLDEN) | 1
