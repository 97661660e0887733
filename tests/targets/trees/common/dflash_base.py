"""The part of a DFlash forward that all its families share: store, draft, account."""

import torch
from tensorrt_llm._utils import prefer_pinned

from .context_store import ContextStore
from .interface import SpecMetadata, SpecWorkerBase

assert not prefer_pinned()


class MappedMetadata(SpecMetadata):
    """Keeps the worker's map from batch rows to slots."""

    def _write_map(self, worker, dummy):
        slots = [worker._req_to_slot.get(number, dummy) for number in self.request_ids]
        worker._batch_to_slot[: len(slots)].copy_(torch.tensor(slots, dtype=torch.long), non_blocking=True)


class DFlashBase(ContextStore, SpecWorkerBase):
    def __init__(self, spec_config, mapping, use_separate_draft_kv_cache=False):
        super().__init__(use_separate_draft_kv_cache)
        self.spec_config, self.mapping = spec_config, mapping
        self._dflash_attention_backend = spec_config.attention_backend
        self._ctx_buf_inited = False
        self._ctx_len = self._batch_to_slot = self._saved_ctx_len = None
        self._max_ctx = 0
        self._req_to_slot = {}
        self._free_slots = []
        self._dummy_slot = None

    @property
    def max_draft_len(self):
        return self.spec_config.max_draft_len

    @property
    def _padding_row(self):
        return self._dummy_slot

    def _forward_impl(
        self,
        input_ids,
        position_ids,
        hidden_states,
        logits,
        attn_metadata,
        spec_metadata,
        draft_model,
        resource_manager=None,
    ):
        del hidden_states
        if spec_metadata.runtime_draft_len == 0:
            return self.skip_drafting(logits, attn_metadata)
        self._initialise(draft_model, spec_metadata, attn_metadata, resource_manager)
        spec_metadata._dflash_worker = self
        self._refresh_block_tables(attn_metadata)
        capturing = torch.cuda.is_current_stream_capturing()
        warming = spec_metadata.is_cuda_graph and not capturing
        if not capturing:
            self._saved_ctx_len = self._ctx_len.clone()
        attn_metadata.prepare_for_spec_dec("_seq_lens", "_seq_lens_cuda")
        tokens, counts = self.sample_and_accept_draft_tokens(logits, attn_metadata, spec_metadata)
        contexts = attn_metadata.num_contexts
        if contexts:
            self._store_prefill_context(draft_model, spec_metadata, attn_metadata, position_ids.flatten())
            spec_metadata._write_map(self, self._padding_row)
        drafts = torch.zeros(contexts, self.max_draft_len, dtype=torch.int32, device="cuda")
        if attn_metadata.num_seqs > contexts:
            made = self._draft(draft_model, spec_metadata, attn_metadata, tokens, counts, input_ids.shape[0])
            drafts = torch.cat([drafts, made])
        attn_metadata.restore_from_spec_dec()
        attn_metadata.on_update()
        if warming:
            self._ctx_len.copy_(self._saved_ctx_len)
        return self._outputs(logits, tokens, counts, drafts)

    def _draft(self, draft_model, spec_metadata, attn_metadata, tokens, counts, total):
        contexts, length = attn_metadata.num_contexts, self.max_draft_len
        gens = attn_metadata.num_seqs - contexts
        slots = self._batch_to_slot[contexts : contexts + gens]
        rows = torch.arange(contexts, contexts + gens, device=slots.device)
        accepted = counts[contexts:].long()
        bonus = tokens[contexts:].gather(1, (accepted - 1).unsqueeze(1)).squeeze(1).long()
        offsets = torch.arange(length + 1, device=slots.device)
        columns = self._ctx_len[slots].unsqueeze(1) + offsets
        states = spec_metadata.get_hidden_states(total)[attn_metadata.num_ctx_tokens :]
        states = draft_model.project_target_hidden(states)
        key, value = draft_model.precompute_context_kv(states, columns.flatten())
        wanted = (offsets < accepted.unsqueeze(1)).flatten().view(-1, 1, 1, 1).to(key.dtype)
        each = slots.unsqueeze(1).expand_as(columns).flatten()
        of_row = rows.unsqueeze(1).expand_as(columns).flatten()
        bound = self._ctx_block_counts[rows] * self._ctx_page_size if self._ctx_block_counts is not None else None
        columns = columns.clamp(max=self._max_ctx - 1)
        if bound is not None:
            columns = torch.minimum(columns, bound.unsqueeze(1) - 1)
        self._store(key * wanted, None if value is None else value * wanted, each, of_row, columns.flatten())
        self._advance(slots, accepted)
        embed = draft_model.draft_model_full.model.embed_tokens
        noise = embed(torch.full((gens, length + 1), draft_model.mask_token_id, device=slots.device))
        noise[:, 0] = embed(bonus)
        out = draft_model.dflash_forward(
            noise_embedding=noise,
            query_positions=self._ctx_len[slots].unsqueeze(1) + offsets,
            num_ctx_per_req=self._ctx_len[slots],
            ctx_k_cache=self._ctx_k_buf,
            ctx_v_cache=self._ctx_v_buf,
            ctx_cache_batch_idx=slots if self._ctx_block_tables is None else rows,
            ctx_kv_cache=self._ctx_kv_buf,
            ctx_page_table=self._table,
        )
        picked = out.view(gens, length + 1, -1)[:, 1:]
        logits = draft_model.logits_processor(picked, draft_model.lm_head, attn_metadata, True)
        return self.sample_draft_tokens(logits)

    def _advance(self, slots, accepted):
        self._ctx_len[slots] += accepted

    def _keep_chunk(self, draft_model, slot, row, start, states, positions):
        """Append a chunk's states to a slot."""
        key, value = draft_model.precompute_context_kv(draft_model.project_target_hidden(states), positions)
        columns = torch.arange(start, start + len(states), device=states.device)
        of = torch.full_like(columns, slot), torch.full_like(columns, row)
        self._store(key, value, *of, columns)
        self._ctx_len[slot] = start + len(states)
