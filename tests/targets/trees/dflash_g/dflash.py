"""DFlash, family G: host mirrors of lengths that lag behind the device; a dummy row that never grows."""

from .dflash_assigning import AssigningMetadata, AssigningWorker


class DFlashSpecMetadata(AssigningMetadata): ...


class DFlashWorker(AssigningWorker):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._forget_lengths(0)

    def _forget_lengths(self, rows):
        self._ctx_len_host = [0] * rows
        self._req_ctx_pos = {}

    def _free(self, number):
        super()._free(number)
        self._req_ctx_pos.pop(number, None)

    def _set_length(self, slot, length):
        super()._set_length(slot, length)
        self._ctx_len_host[slot] = length

    def _starts_anew(self, number, first):
        return self._req_ctx_pos.get(number) != first

    def _end_chunk(self, number, slot, length):
        self._req_ctx_pos[number] = length
        self._ctx_len_host[slot] = length  # decoding moves on only the device's

    def _advance(self, slots, accepted):
        super()._advance(slots, accepted)
        self._ctx_len[self._dummy_slot].zero_()
