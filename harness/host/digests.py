"""Row digests: two position-weighted sums of a row's words, computed where the tensor is, one transfer for all.

A row is read as words of 8 bytes where its runs allow that, else of 4, 2 or 1. Its digest is the sum of
word * w[i] + (word >> 32) * w'[i], modulo 2^64, with SplitMix64 of the place for weights: a moved value, two that
changed places, a constant row and a zero row all differ, which an exclusive or of the same bits would miss. High
halves count twice, since a double such as 2.0 is one high bit, which one product alone would push out of 64.
Sums of integers do not depend on their order, so every device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
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

    How they are read is kept as long as they are the same tensors in the same places; content is always read.
    """

    def __init__(self) -> None:
        self._read: tuple[tuple[str, Rows, int], ...] = ()
        self._plans: list[_Plan] = []

    def __call__(self, tensors: Mapping[str, Rows]) -> Digests:
        """Return the digests of tensors, one integer a row, in their order."""
        if not self._stands(tensors):
            self._prepare(tensors)
        found = {name: rows for plan in self._plans for name, rows in plan.digests()}
        return found if len(self._plans) < 2 else {name: found[name] for name in tensors}

    def _stands(self, tensors: Mapping[str, Rows]) -> bool:
        return len(tensors) == len(self._read) and all(
            tensors.get(name) is not None and tensors[name][0] is rows[0] and rows[0].data_ptr() == place
            for name, rows, place in self._read
        )

    def _prepare(self, tensors: Mapping[str, Rows]) -> None:
        every = {name: words_of(*rows) for name, rows in tensors.items()}
        # What had to be copied to be read is copied anew every time.
        views = all(every[name].values.data_ptr() == rows[0].data_ptr() for name, rows in tensors.items())
        self._read = tuple((name, rows, rows[0].data_ptr()) for name, rows in tensors.items()) if views else ()
        by_device: dict[torch.device, dict[str, Words]] = {}
        for name, words in every.items():
            by_device.setdefault(words.values.device, {})[name] = words
        self._plans = [_Plan(words, device) for device, words in by_device.items()]


class _Plan:
    """The tensors of one device, and where their digests go: an engine has mirrors of a few on the host."""

    def __init__(self, every: Mapping[str, Words], device: torch.device) -> None:
        counts = [words.rows for words in every.values()]
        self._sums = torch.zeros(sum(counts), dtype=torch.int64, device=device)
        parts = self._sums.split(counts)
        self._parts = [(name, words, part) for (name, words), part in zip(every.items(), parts, strict=True)]
        self._add = _adder(device.type)

    def digests(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield name and digests, with one transfer."""
        self._sums.zero_()
        for _, words, sums in self._parts:
            self._add(words, sums)
        values = iter(self._sums.tolist())
        return ((name, tuple(islice(values, words.rows))) for name, words, _ in self._parts)


@cache
def _adder(device: str) -> _Add:
    """Return what adds up words on a device: a kernel where one can be compiled, else torch's operations."""
    if device == "cuda" and find_spec("triton") is not None:
        kernel: Any = import_module("harness.host.digest_kernel")
        return cast("_Add", kernel.add_words)
    return add_words


def add_words(words: Words, sums: Tensor) -> None:
    """Add the digests to int64 [rows] by torch's own operations: what every other way must equal."""
    add = _add_product if sums.device.type == "cpu" else _add_products_of_all
    for first, matrix in words.matrices:
        step = max(1, _CHUNK // words.rows)
        for start in range(0, matrix.shape[1], step):
            part = matrix if matrix.shape[1] <= step else matrix[:, start : start + step]
            one, other = _weights(first + start, part.shape[1], sums.device)
            if words.width == 8:
                add(sums, part, one)
                add(sums, part >> 32, other)
            else:
                add(sums, part.to(torch.int64), one)


def _add_product(sums: Tensor, matrix: Tensor, vector: Tensor) -> None:
    sums.addmv_(matrix, vector)  # of integers, and without a temporary


def _add_products_of_all(sums: Tensor, matrix: Tensor, vector: Tensor) -> None:
    sums += (matrix * vector).sum(1)  # CUDA has no product of matrix and vector for integers


_weights = cache(weights)
