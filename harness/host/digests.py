"""Row digests: two position-weighted sums of a row's words, computed where the tensor is, one transfer for all.

A row is read as words of 8 bytes where its runs allow that, else of 4, 2 or 1. Its digest is the sum of
word * w[i] + (word >> 32) * w'[i], modulo 2^64, with SplitMix64 of the place for weights: a moved value, two that
changed places, a constant row and a zero row all differ, which an exclusive or of the same bits would miss. High
halves count twice, since a double such as 2.0 is one high bit, which one product alone would push out of 64.
Sums of integers do not depend on their order, so every device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import torch

from harness.host.words import Words, weights, words_of

__all__ = ["Rows", "row_digests", "sum_words"]

Tensor = torch.Tensor
# A tensor, its row dimension, and how many indices of that a row has.
Rows = tuple[Tensor, int, int]
_CHUNK = 1 << 24  # words that are widened to 8 bytes at once


def row_digests(tensors: Sequence[Rows]) -> list[tuple[int, ...]]:
    """Return the digests of several tensors on one device, one integer a row."""
    if not tensors:
        return []
    words = [words_of(*rows) for rows in tensors]
    values = torch.cat([_adder(each.values.device.type)(each) for each in words]).tolist()
    result, start = [], 0
    for each in words:
        result.append(tuple(values[start : start + each.rows]))
        start += each.rows
    return result


@cache
def _adder(device: str) -> Callable[[Words], Tensor]:
    """Return what adds up words on a device: a kernel where one can be compiled, else torch's operations."""
    if device == "cuda" and find_spec("triton") is not None:
        kernel: Any = import_module("harness.host.digest_kernel")
        return cast("Callable[[Words], Tensor]", kernel.sum_words)
    return sum_words


def sum_words(words: Words) -> Tensor:
    """Return int64 [rows], the digests, by torch's own operations: what every other way must equal."""
    flat, device = words.flat(), str(words.values.device)
    step = max(1, _CHUNK // words.rows)
    total = flat.new_zeros(words.rows, dtype=torch.int64)
    for start in range(0, flat.shape[1], step):
        part = flat[:, start : start + step].to(torch.int64)
        one, other = _weights(start, part.shape[1], device)
        total += _product(part, one)
        if words.width == 8:
            total += _product(part >> 32, other)
    return total


def _product(matrix: Tensor, vector: Tensor) -> Tensor:
    # On a CPU a product of integers needs no temporary; on CUDA there is none.
    return torch.mv(matrix, vector) if matrix.device.type == "cpu" else (matrix * vector).sum(1)


_weights = cache(weights)
