"""A tensor's rows as words of integers, and the weight of each place in a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import torch

__all__ = ["CROSS", "GOLDEN", "MIX", "Words", "weights", "words_of"]

Tensor = torch.Tensor
_TYPES = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}

# SplitMix64 (Steele, Lea and Flood, 2014): step and multipliers of its finaliser.
GOLDEN = 0x9E3779B97F4A7C15
MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
# What a high half's weight differs by from its word's; any constant with bits all over it would do.
CROSS = 0x5851F42D4C957F2C


@dataclass(frozen=True)
class Words:
    """Words [outer, rows, entries, run] of a tensor, as signed integers of `width` bytes (unsigned if 1).

    A row's place i is (entry * outer + o) * run + t: as in the view that has the rows in front.
    """

    values: Tensor
    width: int

    @property
    def rows(self) -> int:
        """How many rows there are, a digest each."""
        return self.values.shape[1]

    @cached_property
    def matrices(self) -> tuple[tuple[int, Tensor], ...]:
        """Return (first place, matrix [rows, words from there on]), views of the tensor all of them."""
        outer, _, entries, run = self.values.shape
        if outer == 1:
            return ((0, self.values[0].flatten(1)),)
        segments = [(entry, index) for entry in range(entries) for index in range(outer)]
        return tuple((place * run, self.values[index, :, entry]) for place, (entry, index) in enumerate(segments))


def words_of(tensor: Tensor, row_dim: int, entries: int) -> Words:
    """Return the rows of `tensor`, `entries` indices of dimension `row_dim` each, as the widest words that fit."""
    outer, run = prod(tensor.shape[:row_dim]), prod(tensor.shape[row_dim + 1 :])
    size = tensor.element_size()
    width = next(width for width in _TYPES if run * size % width == 0)
    whole = tensor.contiguous()
    if whole.storage_offset() * size % width:  # a view that starts within a word
        whole = whole.clone()
    return Words(whole.view(outer, -1, entries, run).view(_TYPES[width]), width)


def weights(start: int, count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return int64 [count] twice: the weights of places start.. and of the high halves of their words."""
    z = torch.arange(start + 1, start + count + 1, dtype=torch.int64, device=device) * _signed(GOLDEN)
    z = (z ^ _shifted(z, 30)) * _signed(MIX[0])
    z = (z ^ _shifted(z, 27)) * _signed(MIX[1])
    z = (z ^ _shifted(z, 31)) | 1
    return z, z ^ CROSS


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >> 63 else constant


def _shifted(z: Tensor, bits: int) -> Tensor:
    return (z >> bits) & ((1 << (64 - bits)) - 1)  # torch shifts the sign in
