"""DFlash, families C to E: slots are given in the prefill, inline; what has none shares the row of padding."""

from collections import deque

import torch
from tensorrt_llm.logger import logger

from .dflash_base import DFlashBase, MappedMetadata
from .sizing import slot_count


class InlineMetadata(MappedMetadata):
    def prepare(self):
        super().prepare()
        worker = getattr(self, "_dflash_worker", None)
        if worker is None or not worker._ctx_buf_inited:
            return
        for number in [number for number in worker._req_to_slot if number not in self.request_ids]:
            slot = worker._req_to_slot.pop(number)
            worker._ctx_len[slot] = 0
            worker._free_slots.append(slot)
        self._write_map(worker, worker._padding_row)


class InlineWorker(DFlashBase):
    _spare_rows = 1  # beyond those of requests

    def _initialise(self, draft_model, spec_metadata, attn_metadata, resource_manager):
        del resource_manager
        self._lazy_init_ctx_buffers(draft_model, spec_metadata, attn_metadata)

    def _lazy_init_ctx_buffers(self, draft_model, spec_metadata, attn_metadata):
        if self._ctx_buf_inited:
            return
        slots = slot_count(spec_metadata)
        self._max_ctx = attn_metadata.max_seq_len
        rows = slots + self._spare_rows
        self._name_dummy(slots)
        self._ctx_len = torch.zeros(rows, dtype=torch.long, device="cuda")
        self._batch_to_slot = torch.zeros(slots, dtype=torch.long, device="cuda")
        self._free_slots = deque(range(slots))
        self._req_to_slot = {}
        self._allocate_context(draft_model, rows - 1)
        self._ctx_buf_inited = True

    def _name_dummy(self, slots):
        self._dummy_slot = slots

    def _store_prefill_context(self, draft_model, spec_metadata, attn_metadata, positions):
        states = spec_metadata.get_hidden_states(attn_metadata.num_ctx_tokens)
        start = 0
        for row in range(attn_metadata.num_contexts):
            number, count = spec_metadata.request_ids[row], int(attn_metadata._seq_lens[row])
            chunk = slice(start, start + count)
            start += count
            if number in self._req_to_slot and int(positions[chunk][0]) == 0:
                old = self._req_to_slot.pop(number)
                self._free_slots.append(old)
            if number not in self._req_to_slot:
                if not self._free_slots:
                    logger.warning("DFlash: no free slots, skipping context store")
                    continue
                self._req_to_slot[number] = self._free_slots.popleft()
                self._ctx_len[self._req_to_slot[number]] = 0
            slot = self._req_to_slot[number]
            self._keep_chunk(draft_model, slot, row, int(self._ctx_len[slot]), states[chunk], positions[chunk])
