"""Stand-in KV cache managers: page allocators with the attributes that managed layouts bind to."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.common.toy import HIDDEN

__all__ = ["DraftManager", "HistoryManager", "Resources"]

Tensor = torch.Tensor
_LAYERS = 2
PAGE = 8


class Resources:
    """The resource manager: hands out one cache manager whatever it is asked for."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def get_resource_manager(self, _kind: Any) -> Any:
        """Return the manager."""
        return self.manager


def _total_pages(blocks: int, requests: int) -> int:
    """Return the pages of a pool: by powers of two, since a real pool is sized by memory, not by requests."""
    return blocks * max(32, 1 << requests.bit_length())


class _Pages:
    """Hands out pages: from page 0 up to requests, from the last one down to warm-up and padding."""

    def __init__(self, total: int) -> None:
        self._free = list(range(total))
        self._of: dict[int, list[int]] = {}

    def reserve(self, request: int, tokens: int, *, dummy: bool = False) -> list[int]:
        """Return the pages of `request`, enough for `tokens`."""
        pages = self._of.setdefault(request, [])
        while len(pages) * PAGE < tokens:
            pages.append(self._free.pop(-1 if dummy else 0))
        return pages

    def release(self, request: int) -> None:
        """Take the pages of a request back."""
        self._free += self._of.pop(request, [])


class DraftManager(_Pages):
    """The draft model's own cache: [pages, layers, key/value, heads, page, width], cut by layer.

    nowhere  how a table says that a page is not given: -1 (the real manager's Python backend) or 0 (its C++).
    """

    def __init__(
        self, heads: int, kv_factor: int, requests: int, max_seq_len: int, device: str, nowhere: int
    ) -> None:
        self._nowhere = nowhere
        self.max_blocks_per_seq = -(-max_seq_len // PAGE)
        total = _total_pages(self.max_blocks_per_seq, requests)
        super().__init__(total)
        self.max_seq_len, self.kv_factor = max_seq_len, kv_factor
        shape = (total, _LAYERS, kv_factor, heads, PAGE, HIDDEN // heads)
        self.pool = torch.zeros(shape, device=device)
        self.kv_cache_pool_mapping = torch.tensor([[0, layer] for layer in range(_LAYERS)])
        self.layer_offsets = {layer: layer for layer in range(_LAYERS)}

    def get_buffers(self, layer: int, kv_layout: str = "HND") -> Tensor:
        """Return one layer's pages."""
        assert kv_layout == "HND"
        return self.pool[:, layer]

    def fill_offsets(
        self, offsets: Tensor, requests: Mapping[int, int], dummies: Sequence[int], spare: int
    ) -> None:
        """Encode the pages of each row into [1, rows, 2, blocks].

        `requests` are (number, tokens) in row order, `dummies` the rows behind them, with `spare` tokens each.
        """
        table = torch.full_like(offsets, self._nowhere, device="cpu")
        rows = [self.reserve(number, tokens) for number, tokens in requests.items()]
        rows += [self.reserve(number, spare, dummy=True) for number in dummies]
        for row, pages in enumerate(rows):
            for column, page in enumerate(pages):
                for half in range(2):
                    place = page * _LAYERS * self.kv_factor + min(half, self.kv_factor - 1)
                    table[0, row, half, column] = place
        offsets.copy_(table)

    def replaced(self) -> DraftManager:
        """Return another manager in whose memory every request has what it had here."""
        other = copy.copy(self)
        other.pool = self.pool.clone()
        return other


class HistoryManager(_Pages):
    """The target's cache with the draft layers in it, and the committed history of every request."""

    draft_layer_ids = (40, 41)
    enable_block_reuse = False

    def __init__(self, window: int, requests: int, max_seq_len: int, device: str) -> None:
        self.draft_max_blocks_per_seq = -(-max_seq_len // PAGE)
        total = _total_pages(self.draft_max_blocks_per_seq, requests)
        super().__init__(total)
        self.draft_window_size = window
        self.layer_offsets = {layer: index for index, layer in enumerate(self.draft_layer_ids)}
        self.kv_factor_per_layer = [1] * len(self.draft_layer_ids)
        self.head_dim_per_layer = [HIDDEN] * len(self.draft_layer_ids)
        shape = (total + 1, 1, 1, PAGE, HIDDEN)  # the last page takes masked writes
        self.pools = [torch.zeros(shape, device=device) for _ in self.draft_layer_ids]
        self.kv_cache_map: dict[int, Any] = {}
        self._draft_dummy_request_ids: set[int] = set()

    def get_draft_buffers(self, stage: int) -> Tensor:
        """Return one stage's pages."""
        return self.pools[stage]

    def track(self, request: int, history: int, tokens: int, *, dummy: bool = False) -> None:
        """Note a request's committed history and reserve pages for `tokens`."""
        pages = self.reserve(request, tokens, dummy=dummy)
        cache = self.kv_cache_map.setdefault(request, SimpleNamespace(is_active=True))
        cache.history_length, cache.capacity = history, len(pages) * PAGE
        if dummy:
            self._draft_dummy_request_ids.add(request)

    def import_history(self, request: int, states: Tensor, tokens: int) -> None:
        """Take over the context [tokens, HIDDEN] of a request that was prefilled elsewhere, pages included."""
        self.track(request, len(states), tokens)
        frames = torch.arange(1, len(states) + 1)
        pages = torch.tensor(self._of[request])[frames // PAGE]
        for pool in self.pools:
            pool[pages, 0, 0, frames % PAGE] = states.to(pool.device)

    def replaced(self) -> HistoryManager:
        """Return another manager in whose memory every request has what it had here."""
        other = copy.copy(self)
        other.pools = [pool.clone() for pool in self.pools]
        other.kv_cache_map = {number: copy.copy(cache) for number, cache in self.kv_cache_map.items()}
        return other

    def forget(self, request: int) -> None:
        """The request is gone."""
        self.kv_cache_map.pop(request, None)
        self.release(request)

    def get_draft_block_table(self, requests: Sequence[int]) -> Tensor:
        """Return the pages [requests, blocks] of each request."""
        table = torch.zeros(len(requests), self.draft_max_blocks_per_seq, dtype=torch.int32)
        for row, request in enumerate(requests):
            pages = self._of.get(request, [])
            table[row, : len(pages)] = torch.tensor(pages, dtype=torch.int32)
        return table
