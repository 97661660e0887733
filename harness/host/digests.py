"""Row digests: two position-weighted sums of a row's words, computed where the tensor is, one transfer for all.

A row is read as words of 8 bytes where its runs allow that, else of 4, 2 or 1. Its digest is the sum of
word * w[i] + (word >> 32) * w'[i], modulo 2^64, with SplitMix64 of the place for weights: a moved value, two that
changed places, a constant row and a zero row all differ, which an exclusive or of the same bits would miss. High
halves count twice, since a double such as 2.0 is one high bit, which one product alone would push out of 64.
Sums of integers do not depend on their order, so every device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import torch

from harness.host.words import Words, weights, words_of

__all__ = ["Digester", "Digests", "Rows", "add_words"]

Tensor = torch.Tensor
# A tensor, its row dimension, and how many indices of that a row has.
Rows = tuple[Tensor, int, int]
# A buffer's name -> a digest a row.
Digests = Mapping[str, tuple[int, ...]]
_Add = Callable[[Words, Tensor], None]
_CHUNK = 1 << 24  # words that are widened to 8 bytes at once


class Digester:
    """Digests the rows of the same few tensors again and again.

    How a tensor is read is kept as long as it is the same tensor in the same place; its content is always read.
    """

    def __init__(self) -> None:
        self._words: dict[str, tuple[Rows, int, Words]] = {}
        self._sums: Tensor | None = None

    def __call__(self, tensors: Mapping[str, Rows]) -> Digests:
        """Return the digests of tensors that are on one device, one integer a row."""
        words = {name: self._read(name, rows) for name, rows in tensors.items()}
        count = sum(each.rows for each in words.values())
        if not count:
            return dict.fromkeys(words, ())
        sums, start = self._room(count, next(iter(words.values())).values.device), 0
        for each in words.values():
            _adder(each.values.device.type)(each, sums[start : start + each.rows])
            start += each.rows
        values = iter(sums.tolist())
        return {name: tuple(next(values) for _ in range(each.rows)) for name, each in words.items()}

    def _read(self, name: str, rows: Rows) -> Words:
        tensor = rows[0]
        known = self._words.get(name)
        if known is not None and known[0][0] is tensor and known[1] == tensor.data_ptr() and known[0] == rows:
            return known[2]
        words = words_of(*rows)
        if words.values.data_ptr() == tensor.data_ptr():  # a view of it, no copy
            self._words[name] = rows, tensor.data_ptr(), words
        return words

    def _room(self, count: int, device: torch.device) -> Tensor:
        if self._sums is None or len(self._sums) != count or self._sums.device != device:
            self._sums = torch.zeros(count, dtype=torch.int64, device=device)
            return self._sums
        return self._sums.zero_()


@cache
def _adder(device: str) -> _Add:
    """Return what adds up words on a device: a kernel where one can be compiled, else torch's operations."""
    if device == "cuda" and find_spec("triton") is not None:
        kernel: Any = import_module("harness.host.digest_kernel")
        return cast("_Add", kernel.add_words)
    return add_words


def add_words(words: Words, sums: Tensor) -> None:
    """Add the digests to int64 [rows] by torch's own operations: what every other way must equal."""
    device = str(words.values.device)
    step = max(1, _CHUNK // words.rows)
    for first, matrix in words.matrices:
        for start in range(0, matrix.shape[1], step):
            part = matrix if matrix.shape[1] <= step else matrix[:, start : start + step]
            part = part if words.width == 8 else part.to(torch.int64)
            one, other = _weights(first + start, part.shape[1], device)
            _add_product(sums, part, one)
            if words.width == 8:
                _add_product(sums, part >> 32, other)


def _add_product(sums: Tensor, matrix: Tensor, vector: Tensor) -> None:
    # On a CPU a product of integers needs no temporary; on CUDA there is none.
    if sums.device.type == "cpu":
        sums.addmv_(matrix, vector)
    else:
        sums += (matrix * vector).sum(1)


_weights = cache(weights)
