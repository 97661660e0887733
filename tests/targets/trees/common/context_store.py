"""Where a context worker keeps key and value: rows, an arena of pages, or pages of a manager."""

import torch

from .dflash_attention import get_dflash_paged_append


class ContextStore:
    _ctx_k_buf = _ctx_v_buf = _ctx_kv_buf = _ctx_page_table = None
    _ctx_kv_indptr = _ctx_kv_last_page_len = None
    _ctx_block_tables = _ctx_block_counts = _ctx_block_indptr = None
    _ctx_page_size = 8

    def _allocate_context(self, draft_model, slots, manager=None):
        rows = slots + 1
        layers, heads, width = draft_model._num_attn_layers, draft_model._num_kv_heads, draft_model._head_dim
        halves = getattr(draft_model, "_kv_factor", 2)
        capacity = self._max_ctx + self.max_draft_len + 1
        paged = draft_model.dflash_attention_backend == "TRTLLM" or getattr(draft_model, "_paged_ctx_cache", False)
        self._ctx_kv_manager = manager
        if not paged:
            self._ctx_k_buf = torch.zeros(rows, layers, capacity, heads, width, device="cuda")
            self._ctx_v_buf = torch.zeros_like(self._ctx_k_buf)
            return
        size = self._ctx_page_size
        self._ctx_kv_last_page_len = torch.full((rows,), size, dtype=torch.int32, device="cuda")
        if manager is not None:
            blocks = manager.max_blocks_per_seq
            self._ctx_kv_buf = [manager.get_buffers(layer, kv_layout="HND") for layer in range(layers)]
            self._ctx_block_tables = torch.zeros(rows, blocks, dtype=torch.int32, device="cuda")
            self._ctx_block_indptr = torch.arange(0, (rows + 1) * blocks, blocks, dtype=torch.int32, device="cuda")
            self._ctx_block_counts = torch.zeros(rows, dtype=torch.long, device="cuda")
            self._ctx_block_divisor = layers * manager.kv_factor
            return
        pages = -(-capacity // size)
        self._ctx_kv_buf = torch.zeros(layers, rows * pages, halves, heads, size, width, device="cuda")
        self._ctx_page_table = torch.arange(rows * pages, dtype=torch.int32, device="cuda").view(rows, pages)
        self._ctx_kv_indptr = torch.arange(0, rows * pages + 1, pages, dtype=torch.int32, device="cuda")

    def _refresh_block_tables(self, attn_metadata):
        if self._ctx_block_tables is None:
            return
        count = attn_metadata.num_seqs
        encoded = attn_metadata.draft_kv_cache_block_offsets[0, :count, 0].long()
        self._ctx_block_counts[:count].copy_((encoded >= 0).sum(1))
        self._ctx_block_tables[:count].copy_((encoded.clamp(min=0) // self._ctx_block_divisor).int())

    @property
    def _table(self):
        return self._ctx_page_table if self._ctx_block_tables is None else self._ctx_block_tables

    def _store(self, key, value, slots, rows, columns):
        """Write [tokens, layers, heads, width]; managed tables go by batch row, everything else by slot."""
        if self._ctx_k_buf is not None:
            self._ctx_k_buf[slots, :, columns] = key
            self._ctx_v_buf[slots, :, columns] = value
            return
        index = slots if self._ctx_block_tables is None else rows
        if value is None:
            pages = self._table[index, columns // self._ctx_page_size].long()
            for layer in range(key.shape[1]):
                self._ctx_kv_buf[layer][pages, 0, 0, columns % self._ctx_page_size] = key[:, layer, 0]
            return
        append = get_dflash_paged_append()
        indptr = self._ctx_kv_indptr if self._ctx_block_tables is None else self._ctx_block_indptr
        for layer in range(key.shape[1]):
            append(
                append_key=key[:, layer],
                append_value=value[:, layer],
                batch_indices=index.int(),
                positions=columns.int(),
                paged_kv_cache=self._ctx_kv_buf[layer],
                kv_indices=self._table.flatten(),
                kv_indptr=indptr,
                kv_last_page_len=self._ctx_kv_last_page_len,
                kv_layout="HND",
            )
