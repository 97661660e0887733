"""DSpark, family e: pages and histories are the KV manager's; the worker keeps lengths and row tables."""

# ruff: noqa: TID252  # the package is another one where it is laid

from collections import deque

import torch

from ..pyexecutor.llm_request import ATTENTION_DP_DUMMY_REQUEST_ID
from ..pyexecutor.resource_manager import ResourceManagerType
from .dflash import DFlashWorker
from .interface import SpecMetadata, SpecWorkerBase
from .sizing import slot_count


class DSparkSpecMetadata(SpecMetadata):
    """Only numbers its rows: slots are the worker's business, in `prepare_managed_draft_cache`."""


class DSv4DSparkWorker(SpecWorkerBase):
    def __init__(self, spec_config, mapping, use_separate_draft_kv_cache=False):
        super().__init__(use_separate_draft_kv_cache)
        self.spec_config, self.mapping = spec_config, mapping
        self._ctx_len = self._valid_len = self._batch_to_slot = None
        self._draft_block_tables = self._draft_capacities = None
        self._pages = []
        self._managed_residency = {}
        self._scratch_slot = self._win = 0
        self._req_to_slot, self._free_slots = {}, deque()

    @property
    def max_draft_len(self):
        return self.spec_config.max_draft_len

    def prepare_managed_draft_cache(self, draft_model, spec_metadata, attn_metadata, resource_manager):
        manager = resource_manager.get_resource_manager(ResourceManagerType.KV_CACHE_MANAGER)
        self._lazy_init(draft_model, spec_metadata, manager)
        self._prepare_managed_history(manager, spec_metadata.request_ids, attn_metadata.num_contexts)

    def _lazy_init(self, draft_model, spec_metadata, manager):
        if draft_model.block_size != self.max_draft_len:
            raise ValueError("block_size must equal max_draft_len")
        if self._ctx_len is not None:
            return
        from ..pyexecutor.cuda_graph_runner import CUDA_GRAPH_DUMMY_REQUEST_ID

        slots = slot_count(spec_metadata)
        self._graph_dummy_id_floor = CUDA_GRAPH_DUMMY_REQUEST_ID - self.max_draft_len
        self._win = manager.draft_window_size
        self._scratch_slot = slots
        self._ctx_len = torch.zeros(slots + 1, dtype=torch.long, device="cuda")
        self._valid_len = torch.zeros(slots + 1, dtype=torch.long, device="cuda")
        self._batch_to_slot = torch.full((slots,), slots, dtype=torch.long, device="cuda")
        blocks = manager.draft_max_blocks_per_seq
        self._draft_block_tables = torch.zeros(slots, blocks, dtype=torch.int32, device="cuda")
        self._draft_capacities = torch.zeros(slots, dtype=torch.long, device="cuda")
        self._pages = [manager.get_draft_buffers(stage) for stage in range(draft_model.num_stages)]
        self._free_slots = deque(range(slots))

    def _assign_slot(self, number):
        if number not in self._req_to_slot:
            if not self._free_slots:
                raise RuntimeError(f"DSpark has no free progress slots for {number}; increase max_num_requests")
            self._req_to_slot[number] = self._free_slots.popleft()
        return self._req_to_slot[number]

    def _release_inactive_slots(self, numbers):
        for number in [number for number in self._req_to_slot if number not in numbers]:
            slot = self._req_to_slot.pop(number)
            self._managed_residency.pop(number, None)
            self._ctx_len[slot] = 0
            self._valid_len[slot] = 0
            self._free_slots.append(slot)

    def _prepare_managed_history(self, manager, numbers, num_contexts):
        real = {
            number
            for number in numbers
            if number != ATTENTION_DP_DUMMY_REQUEST_ID
            and number < self._graph_dummy_id_floor
            and number not in manager._draft_dummy_request_ids
        }
        self._release_inactive_slots(real)
        self._ctx_len[self._scratch_slot] = 0
        self._valid_len[self._scratch_slot] = 0
        tables = torch.zeros(len(self._draft_capacities), self._draft_block_tables.shape[1], dtype=torch.int32)
        capacities = torch.zeros(len(self._draft_capacities), dtype=torch.long)
        rows = torch.full((len(self._batch_to_slot),), self._scratch_slot, dtype=torch.long)
        for row, number in enumerate(numbers):
            if number not in real:
                continue
            cache = manager.kv_cache_map[number]
            if row >= num_contexts and not cache.history_length:
                raise ValueError(f"request {number} has no committed KV history")
            slot = self._assign_slot(number)
            if self._managed_residency.get(number) is not cache:
                self._managed_residency[number] = cache
                self._ctx_len[slot] = cache.history_length
                self._valid_len[slot] = min(cache.history_length, self._win)
            tables[row] = manager.get_draft_block_table([number])[0]
            capacities[row] = cache.capacity
            rows[row] = slot
        if len(numbers) > len(rows):
            raise IndexError(f"{len(numbers)} rows in tables of {len(rows)}")
        self._draft_block_tables.copy_(tables)
        self._draft_capacities.copy_(capacities)
        self._batch_to_slot.copy_(rows)

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
        del hidden_states, resource_manager
        if self._ctx_len is None:
            raise RuntimeError("prepare_managed_draft_cache has not run")
        tokens, counts = self.sample_and_accept_draft_tokens(logits, attn_metadata, spec_metadata)
        contexts, positions = attn_metadata.num_contexts, position_ids.flatten()
        captured = spec_metadata.get_hidden_states(input_ids.shape[0])
        if contexts:
            self._seed(draft_model, spec_metadata, attn_metadata, captured, positions)
        drafts = torch.zeros(contexts, self.max_draft_len, dtype=torch.int32, device="cuda")
        if attn_metadata.num_seqs > contexts:
            made = self._draft(draft_model, captured, attn_metadata, tokens, counts, positions)
            drafts = torch.cat([drafts, self.sample_draft_tokens(made)])
        return self._outputs(logits, tokens, counts, drafts)

    def _seed(self, draft_model, spec_metadata, attn_metadata, captured, positions):
        start = 0
        for row in range(attn_metadata.num_contexts):
            count = int(attn_metadata._seq_lens[row])
            chunk = slice(start, start + count)
            start += count
            slot = self._assign_slot(spec_metadata.request_ids[row])
            frames = positions[chunk] + 1
            self._write(draft_model, captured[chunk].unsqueeze(0), frames.unsqueeze(0), slice(row, row + 1))
            self._ctx_len[slot] = frames[-1]
            self._valid_len[slot] = frames[-1].clamp(max=self._win)

    def _write(self, draft_model, states, frames, rows, valid=None):
        valid = torch.ones_like(frames, dtype=torch.bool) if valid is None else valid
        draft_model.write_context_pages(
            states, frames, valid, self._pages, self._draft_block_tables[rows], self._draft_capacities[rows]
        )

    def _draft(self, draft_model, captured, attn_metadata, tokens, counts, positions):
        contexts, length = attn_metadata.num_contexts, self.max_draft_len
        rows = slice(contexts, attn_metadata.num_seqs)
        slots = self._batch_to_slot[rows]
        accepted = counts[contexts:].long()
        bonus = tokens[contexts:].gather(1, (accepted - 1).unsqueeze(1)).squeeze(1).long()
        base = attn_metadata.num_ctx_tokens + torch.arange(len(slots), device=slots.device) * (length + 1)
        old = torch.where(slots == self._scratch_slot, positions[base], self._ctx_len[slots])
        start = old + accepted
        self._ctx_len[slots] = start
        self._valid_len[slots] = (self._valid_len[slots] + accepted).clamp(max=self._win)
        step = torch.arange(length, device=slots.device)
        at = (base.unsqueeze(1) + step).clamp(max=captured.shape[0] - 1)
        between = step < (accepted - 1).unsqueeze(1)
        self._write(draft_model, captured[at], old.unsqueeze(1) + 1 + step, rows, between)
        _, _, logits = draft_model.forward(
            captured[base + accepted - 1],
            bonus,
            start,
            kv_pages=self._pages,
            block_tables=self._draft_block_tables[rows],
            capacities=self._draft_capacities[rows],
            valid_len=self._valid_len[slots],
        )
        return logits


class DSparkWorker(DFlashWorker):
    """A standalone drafter."""
