"""Where the target's keys and values lie: a dense row a seat, or pages that a table of each seat names.

Shapes: B batch rows, T tokens, L layers, n key/value heads, d head width, P pages of a table row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["DenseContext", "PagedContext", "locate"]

Tensor = torch.Tensor


def locate(positions: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Return which of its pages each position lies in, and where in that page."""
    return positions // page_size, positions % page_size


class DenseContext:
    """`cache` [L, seats, length, 2, n, d]: a position's column is its own."""

    def __init__(self, cache: Tensor) -> None:
        self.cache = cache
        self.length: int = cache.shape[2]

    def at(self, seats: Tensor, positions: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Return where one layer's rows for seats [B] and positions [B,T] are written, and what is read."""
        return (seats[:, None], positions), seats

    def read(self, layer: Tensor, index: Tensor) -> Tensor:
        """Return [B, length, 2, n, d] of one layer."""
        return layer[index]


class PagedContext:
    """`cache` [L, pages, page_size, 2, n, d]; `table` int64 [seats, P], the null page where there is none yet."""

    def __init__(
        self, cache: Tensor, table: Tensor, locate: Callable[[Tensor, int], tuple[Tensor, Tensor]]
    ) -> None:
        self.cache = cache
        self.table = table
        self.page_size: int = cache.shape[2]
        self.length: int = table.shape[1] * self.page_size
        self._locate = locate

    def at(self, seats: Tensor, positions: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Return where one layer's rows for seats [B] and positions [B,T] are written, and what is read."""
        pages = self.table[seats]
        place, column = self._locate(positions, self.page_size)
        return (pages.gather(1, place), column), pages

    def read(self, layer: Tensor, index: Tensor) -> Tensor:
        """Return [B, length, 2, n, d] of one layer: a seat's pages in the order of its table."""
        gathered: Any = layer[index]
        rows: Tensor = gathered.flatten(1, 2)
        return rows
