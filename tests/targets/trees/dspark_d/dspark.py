"""DSpark, family d: rolling windows of the worker's own; a standalone drafter is DFlash's lineage."""

# ruff: noqa: TID252  # the package is another one where it is laid

from collections import deque

import torch

from ..pyexecutor.llm_request import ATTENTION_DP_DUMMY_REQUEST_ID
from .dflash import DFlashWorker
from .interface import SpecMetadata, SpecWorkerBase
from .sizing import slot_count


class DSparkSpecMetadata(SpecMetadata):
    def prepare(self):
        super().prepare()
        worker = getattr(self, "_dspark_worker", None)
        if worker is None or not worker._win_inited:
            return
        for number in [number for number in worker._req_to_slot if number not in self.request_ids]:
            slot = worker._req_to_slot.pop(number)
            worker._clear(slot)
            worker._free_slots.append(slot)
        generations = self.request_ids[len(self.request_ids) - self.num_generations :]
        for number in generations:
            real = number != ATTENTION_DP_DUMMY_REQUEST_ID and number < worker._graph_dummy_id_floor
            if real and number not in worker._req_to_slot:
                worker._assign_slot(number, reset=False)
        worker._clear(worker._scratch_slot, window=False)
        slots = [worker._req_to_slot.get(number, worker._scratch_slot) for number in self.request_ids]
        worker._batch_to_slot[: len(slots)].copy_(torch.tensor(slots, dtype=torch.long), non_blocking=True)


class DSv4DSparkWorker(SpecWorkerBase):
    def __init__(self, spec_config, mapping, use_separate_draft_kv_cache=False):
        super().__init__(use_separate_draft_kv_cache)
        self.spec_config, self.mapping = spec_config, mapping
        self._win_inited = False
        self._kv_windows = self._ctx_len = self._valid_len = self._position_initialized = None
        self._batch_to_slot = self._output_verify_lens = None
        self._win = self._scratch_slot = 0
        self._req_to_slot, self._free_slots = {}, deque()

    @property
    def max_draft_len(self):
        return self.spec_config.max_draft_len

    def _lazy_init(self, draft_model, spec_metadata, attn_metadata=None):
        del attn_metadata
        if draft_model.block_size != self.max_draft_len:
            raise ValueError("block_size must equal max_draft_len")
        if self._win_inited:
            return
        from ..pyexecutor.cuda_graph_runner import CUDA_GRAPH_DUMMY_REQUEST_ID

        slots = slot_count(spec_metadata)
        rows = slots + 1
        self._win = draft_model._attn_params["window_size"]
        shape = rows, draft_model.num_stages, self._win, draft_model._attn_params["head_dim"]
        self._kv_windows = torch.zeros(shape, dtype=torch.bfloat16, device="cuda")
        self._ctx_len = torch.zeros(rows, dtype=torch.long, device="cuda")
        self._valid_len = torch.zeros(rows, dtype=torch.long, device="cuda")
        self._position_initialized = torch.zeros(rows, dtype=torch.bool, device="cuda")
        self._scratch_slot = slots
        self._batch_to_slot = torch.full((slots,), slots, dtype=torch.long, device="cuda")
        self._output_verify_lens = torch.empty(slots, dtype=torch.int32, device="cuda")
        self._graph_dummy_id_floor = CUDA_GRAPH_DUMMY_REQUEST_ID - self.max_draft_len
        self._free_slots = deque(range(slots))
        self._win_inited = True

    def _clear(self, slot, window=True):
        self._ctx_len[slot] = 0
        self._valid_len[slot] = 0
        self._position_initialized[slot] = False
        if window:
            self._kv_windows[slot].zero_()

    def _assign_slot(self, number, reset):
        if reset and number in self._req_to_slot:
            old = self._req_to_slot.pop(number)
            self._clear(old)
            self._free_slots.append(old)
        if number not in self._req_to_slot:
            if not self._free_slots:
                raise RuntimeError(f"DSpark has no free rolling-window slots for request {number}")
            self._req_to_slot[number] = self._free_slots.popleft()
            self._clear(self._req_to_slot[number])
        return self._req_to_slot[number]

    def _seed_context_windows(self, draft_model, spec_metadata, attn_metadata, positions):
        states = spec_metadata.get_hidden_states(attn_metadata.num_ctx_tokens)
        start = 0
        for row in range(attn_metadata.num_contexts):
            count = int(attn_metadata._seq_lens[row])
            chunk = slice(start, start + count)
            start += count
            slot = self._assign_slot(spec_metadata.request_ids[row], reset=int(positions[chunk][0]) == 0)
            self._ctx_len[slot] = positions[chunk][-1] + 1
            self._position_initialized[slot] = True
            self._valid_len[slot] = (self._valid_len[slot] + count).clamp(max=self._win)
            keep = min(count, self._win)
            frames = positions[chunk][-keep:] + 1
            draft_model.write_context_windows(states[chunk][-keep:], frames, self._kv_windows[slot])

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
        self._lazy_init(draft_model, spec_metadata, attn_metadata)
        spec_metadata._dspark_worker = self
        tokens, counts = self.sample_and_accept_draft_tokens(logits, attn_metadata, spec_metadata)
        state = (self._ctx_len, self._valid_len, self._position_initialized, self._kv_windows)
        warming = spec_metadata.is_cuda_graph and not torch.cuda.is_current_stream_capturing()
        saved = [tensor.clone() for tensor in state] if warming else []
        contexts, positions = attn_metadata.num_contexts, position_ids.flatten()
        if contexts:
            self._seed_context_windows(draft_model, spec_metadata, attn_metadata, positions)
        drafts = torch.zeros(contexts, self.max_draft_len, dtype=torch.int32, device="cuda")
        if attn_metadata.num_seqs > contexts:
            captured = spec_metadata.get_hidden_states(input_ids.shape[0])
            made = self._draft(draft_model, captured, attn_metadata, tokens, counts, positions)
            drafts = torch.cat([drafts, self.sample_draft_tokens(made)])
        if warming:
            for tensor, content in zip(state, saved, strict=True):
                tensor.copy_(content)
        return self._outputs(logits, tokens, counts, drafts)

    def _draft(self, draft_model, captured, attn_metadata, tokens, counts, positions):
        contexts, length = attn_metadata.num_contexts, self.max_draft_len
        slots = self._batch_to_slot[contexts : attn_metadata.num_seqs]
        accepted = counts[contexts:].long()
        bonus = tokens[contexts:].gather(1, (accepted - 1).unsqueeze(1)).squeeze(1).long()
        base = attn_metadata.num_ctx_tokens + torch.arange(len(slots), device=slots.device) * (length + 1)
        self._clear(self._scratch_slot, window=False)
        old = torch.where(self._position_initialized[slots], self._ctx_len[slots], positions[base])
        start = old + accepted
        self._ctx_len[slots] = start
        self._valid_len[slots] = (self._valid_len[slots] + accepted).clamp(max=self._win)
        self._position_initialized[slots] = torch.ones_like(slots, dtype=torch.bool)
        step = torch.arange(length, device=slots.device)
        between = step < (accepted - 1).unsqueeze(1)
        at = (base.unsqueeze(1) + step).clamp(max=captured.shape[0] - 1)
        draft_model.write_context_windows_batched(
            captured[at], old.unsqueeze(1) + 1 + step, slots, between, self._kv_windows
        )
        _, _, logits = draft_model.forward_batched(
            captured[base + accepted - 1],
            bonus,
            start,
            kv_windows=self._kv_windows,
            slots=slots,
            valid_len=self._valid_len[slots],
        )
        return logits


class DSparkWorker(DFlashWorker):
    """A standalone drafter."""
