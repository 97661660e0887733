"""DFlash from family F on: generation rows get slots too, a full pool means the dummy row, managed pages."""

# ruff: noqa: TID252  # the package is another one where it is laid

from collections import deque

import torch
from tensorrt_llm.logger import logger

from ..pyexecutor.llm_request import ATTENTION_DP_DUMMY_REQUEST_ID
from .dflash_base import DFlashBase, MappedMetadata
from .sizing import slot_count


class AssigningMetadata(MappedMetadata):
    def prepare(self):
        super().prepare()
        worker = getattr(self, "_dflash_worker", None)
        if worker is None or not worker._ctx_buf_inited:
            return
        for number in [number for number in worker._req_to_slot if number not in self.request_ids]:
            worker._free(number)
        for number in self.request_ids[len(self.request_ids) - self.num_generations :]:
            real = number != ATTENTION_DP_DUMMY_REQUEST_ID and number < worker._graph_dummy_id_floor
            if real and number not in worker._req_to_slot and worker._assign_slot(number) is None:
                logger.warning(f"DFlash: request {number} shares the dummy slot and will draft poorly")
        self._write_map(worker, worker._dummy_slot)


class AssigningWorker(DFlashBase):
    _graph_dummy_id_floor = 1 << 62

    def _initialise(self, draft_model, spec_metadata, attn_metadata, resource_manager):
        manager = self.get_draft_kv_cache_manager(resource_manager)
        self._lazy_init_ctx_buffers(draft_model, spec_metadata, attn_metadata, manager)

    def _lazy_init_ctx_buffers(self, draft_model, spec_metadata, attn_metadata, draft_kv_cache_manager=None):
        assert draft_model.dflash_attention_backend == self._dflash_attention_backend
        if self._ctx_buf_inited and self._ctx_kv_manager is draft_kv_cache_manager:
            return
        from ..pyexecutor.cuda_graph_runner import CUDA_GRAPH_DUMMY_REQUEST_ID

        slots = slot_count(spec_metadata)
        self._graph_dummy_id_floor = CUDA_GRAPH_DUMMY_REQUEST_ID - self.max_draft_len
        self._max_ctx = attn_metadata.max_seq_len
        self._dummy_slot = slots
        self._ctx_len = torch.zeros(slots + 1, dtype=torch.long, device="cuda")
        self._batch_to_slot = torch.zeros(slots, dtype=torch.long, device="cuda")
        self._free_slots = deque(range(slots))
        self._req_to_slot = {}
        self._forget_lengths(slots + 1)
        self._allocate_context(draft_model, slots, draft_kv_cache_manager)
        self._ctx_buf_inited = True

    def _forget_lengths(self, rows): ...

    def _free(self, number):
        slot = self._req_to_slot.pop(number)
        self._set_length(slot, 0)
        self._free_slots.append(slot)

    def _set_length(self, slot, length):
        self._ctx_len[slot] = length

    def _assign_slot(self, number, reset=False):
        if reset and number in self._req_to_slot:
            self._free(number)
        if number not in self._req_to_slot:
            if not self._free_slots:
                return None
            self._req_to_slot[number] = self._free_slots.popleft()
            self._set_length(self._req_to_slot[number], 0)
        return self._req_to_slot[number]

    def _starts_anew(self, number, first):
        del number
        return first == 0

    def _store_prefill_context(self, draft_model, spec_metadata, attn_metadata, positions):
        states = spec_metadata.get_hidden_states(attn_metadata.num_ctx_tokens)
        start = 0
        for row in range(attn_metadata.num_contexts):
            number, count = spec_metadata.request_ids[row], int(attn_metadata._seq_lens[row])
            chunk = slice(start, start + count)
            start += count
            first = int(positions[chunk][0])
            slot = self._assign_slot(number, reset=self._starts_anew(number, first))
            if slot is None:
                logger.warning("DFlash: no free slots, skipping context store")
                continue
            at = int(self._ctx_len[slot])
            self._keep_chunk(draft_model, slot, row, at, states[chunk], positions[chunk])
            self._end_chunk(number, slot, at + count)

    def _end_chunk(self, number, slot, length): ...
