"""Stand-in draft models. Each demands the whole history of its slot, and nothing else in it.

What they are asked for is what the real draft models are asked for by the workers; what they answer is the
target's rule, if and only if the slot's rows, pages or window hold one request's states, all at their place.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.common.toy import HIDDEN, MASK_TOKEN, VOCAB, chain, find_key, one_hot

__all__ = ["ContextDrafter", "PageDrafter", "WindowDrafter"]

Tensor = torch.Tensor
_LAYERS = 2


class ContextDrafter:
    """DFlash's draft model: attends to all of a request's context, kept in rows or in pages."""

    mask_token_id = MASK_TOKEN
    hidden_norm = object()
    model = SimpleNamespace()
    lm_head = None
    _num_attn_layers = _LAYERS

    def __init__(self, layout: str, draft_len: int, max_positions: int, device: str) -> None:
        self.block_size = draft_len + 1
        self.dflash_attention_backend = "TRTLLM" if layout in ("paged", "managed") else "VANILLA"
        self.config = SimpleNamespace(max_position_embeddings=max_positions)
        self.fc = SimpleNamespace(weight=torch.zeros(1, device=device))
        heads = 1 if layout == "mla" else 2
        self._num_heads = self._num_kv_heads = heads
        self._head_dim = HIDDEN // heads
        if layout == "mla":
            self._kv_factor, self._paged_ctx_cache = 1, True
        self.draft_model_full = SimpleNamespace(model=SimpleNamespace(embed_tokens=self._embed))

    @staticmethod
    def _embed(tokens: Tensor) -> Tensor:
        return one_hot(tokens, HIDDEN)

    def _build_fused_kv_buffers(self) -> None: ...

    def validate_block_attention_windows(self) -> None:
        """All windows are valid: there is no kernel."""

    def _get_attention_mask_args(self, _layer: int) -> tuple[bool, tuple[int, int]]:
        return True, (-1, -1)

    def project_target_hidden(self, states: Tensor) -> Tensor:
        """Keep the captured states as they are."""
        return states

    def precompute_context_kv(self, states: Tensor, _positions: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return key and value [tokens, layers, heads, head width]: both are the states."""
        cut = states.view(-1, 1, self._num_kv_heads, self._head_dim).repeat(1, _LAYERS, 1, 1)
        return cut, None if self._num_kv_heads == 1 else cut.clone()

    def dflash_forward(self, **inputs: Any) -> Tensor:
        """Return a row a block position; its first columns are the logits."""
        lengths = inputs["num_ctx_per_req"]
        anchor = inputs["noise_embedding"][:, 0].argmax(-1)
        key: Tensor | None = None
        for rows in self._context(inputs):
            columns = torch.arange(rows.shape[1], device=rows.device)
            due = columns.unsqueeze(0) < lengths.unsqueeze(1)
            found = find_key(rows, columns.expand_as(due), due)
            key = found if key is None else torch.where(key == found, key, 0)
        assert key is not None
        key = torch.where(inputs["query_positions"][:, 0] == lengths, key, 0)
        steps = torch.arange(inputs["noise_embedding"].shape[1], device=anchor.device)
        return one_hot(chain(anchor, key, steps)).flatten(0, 1)

    def _context(self, inputs: dict[str, Any]) -> list[Tensor]:
        """Return the cached states [requests, columns, HIDDEN], by layer and by key and value."""
        index, table = inputs["ctx_cache_batch_idx"], inputs.get("ctx_page_table")
        if table is None:
            halves = inputs["ctx_k_cache"], inputs["ctx_v_cache"]
            caches = [half[index] for half in halves if half is not None]
            return [cache[:, layer].flatten(2) for cache in caches for layer in range(_LAYERS)]
        pages = table[index].long()
        found = []
        for layer in range(_LAYERS):
            cached = inputs["ctx_kv_cache"][layer][pages]  # [requests, pages, key/value, heads, page, width]
            found += [half.transpose(2, 3).flatten(3).flatten(1, 2) for half in cached.unbind(2)]
        return found

    def logits_processor(self, states: Tensor, *_: Any) -> Tensor:
        """The states are the logits."""
        return states


class _FrameDrafter:
    """What both DSpark draft models share: a window of frames, position p being in frame p + 1."""

    num_stages = 2
    window = 8

    def __init__(self, draft_len: int) -> None:
        self.block_size = draft_len
        self.config = SimpleNamespace()
        self._attn_params = {"window_size": self.window, "head_dim": HIDDEN, "n_heads": 1, "eps": 1e-6}

    def _logits(self, key: Tensor, bonus: Tensor, states: Tensor, start: Tensor, valid: Tensor | None) -> Tensor:
        """Return [requests, block, VOCAB]; the newest state must be the one in front of frame `start`."""
        newest = (start - 1).unsqueeze(1)
        own = find_key(states.unsqueeze(1), newest, torch.ones_like(newest, dtype=torch.bool))
        key = torch.where(own == key, key, 0)
        if valid is not None:
            key = torch.where(valid == start.clamp(max=self.window), key, 0)
        return one_hot(chain(bonus, key, torch.arange(1, self.block_size + 1, device=bonus.device)), VOCAB)


class WindowDrafter(_FrameDrafter):
    """The embedded DSpark draft model with rolling windows that the worker owns: [rows, stages, window, width]."""

    def write_context_windows(self, states: Tensor, frames: Tensor, row: Tensor) -> None:
        """Write states at their frames into one row's windows [stages, window, width]."""
        row[:, frames % self.window] = states.to(row.dtype)

    def write_context_windows_batched(
        self, states: Tensor, frames: Tensor, slots: Tensor, valid: Tensor, windows: Tensor
    ) -> None:
        """Write the valid ones of states [requests, tokens, width] at their frames."""
        at = (slots[:, None], slice(None), frames % self.window)
        kept = windows[at]
        fresh = states.to(windows.dtype).unsqueeze(2).expand_as(kept)
        windows[at] = torch.where(valid[:, :, None, None], fresh, kept)

    def forward_batched(
        self, main_hidden: Tensor, bonus: Tensor, start_pos: Tensor, kv_windows: Tensor, slots: Tensor,
        valid_len: Tensor | None = None, **_: Any,
    ) -> tuple[None, None, Tensor]:  # fmt: skip
        """Draft from the window in front of frame `start_pos`, then add that frame to it."""
        column = torch.arange(self.window, device=slots.device)
        start = start_pos.unsqueeze(1)
        frame = start - ((start - 1 - column) % self.window + 1)  # the frame that belongs in each column
        keys = [find_key(kv_windows[slots, stage], frame - 1, frame >= 1) for stage in range(self.num_stages)]
        key = torch.where(keys[0] == keys[1], keys[0], 0)
        logits = self._logits(key, bonus, main_hidden, start_pos, valid_len)
        fresh = main_hidden.to(kv_windows.dtype).unsqueeze(1).expand(-1, self.num_stages, -1)
        kv_windows[slots, :, start_pos % self.window] = fresh
        return None, None, logits


class PageDrafter(_FrameDrafter):
    """The embedded DSpark draft model whose window lies in pages of the KV cache manager."""

    def _put(
        self, states: Tensor, frames: Tensor, valid: Tensor, pools: Any, tables: Tensor, capacities: Tensor
    ) -> None:
        size, last = pools[0].shape[3], pools[0].shape[0] - 1
        valid = valid & (frames < capacities[:, None])
        page = torch.gather(tables.long(), 1, (frames // size).clamp(0, tables.shape[1] - 1))
        page = torch.where(valid, page, torch.full_like(page, last))  # the last page takes masked writes
        for pool in pools:
            pool[page, 0, 0, frames % size] = states.to(pool.dtype)

    def write_context_pages(
        self, states: Tensor, positions: Tensor, valid: Tensor, kv_pages: Any, block_tables: Tensor,
        capacities: Tensor,
    ) -> None:  # fmt: skip
        """Write the valid ones of states [requests, tokens, width] at their frames."""
        self._put(states, positions, valid, kv_pages, block_tables, capacities)

    def forward(
        self, main_hidden: Tensor, bonus: Tensor, start_pos: Tensor, kv_pages: Any, block_tables: Tensor,
        capacities: Tensor, valid_len: Tensor, **_: Any,
    ) -> tuple[None, None, Tensor]:  # fmt: skip
        """Draft from the frames in front of `start_pos`, then add that frame to the pages."""
        size = kv_pages[0].shape[3]
        back = start_pos.unsqueeze(1) - 1 - torch.arange(self.window - 1, device=start_pos.device)
        due = back >= 1
        column = (back.clamp(min=0) // size).clamp(max=block_tables.shape[1] - 1)
        page = torch.gather(block_tables.long(), 1, column)
        keys = [find_key(pool[page, 0, 0, back.clamp(min=0) % size], back - 1, due) for pool in kv_pages]
        key = torch.where(keys[0] == keys[1], keys[0], 0)
        logits = self._logits(key, bonus, main_hidden, start_pos, valid_len)
        every = torch.ones_like(start_pos.unsqueeze(1), dtype=torch.bool)
        self._put(main_hidden.unsqueeze(1), start_pos.unsqueeze(1), every, kv_pages, block_tables, capacities)
        return None, None, logits
