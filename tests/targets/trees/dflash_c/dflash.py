"""DFlash, family C: no dummy row; padding, warm-up and strangers stand on slot 0."""

from .dflash_inline import InlineMetadata, InlineWorker


class DFlashSpecMetadata(InlineMetadata):
    pass


class DFlashWorker(InlineWorker):
    _spare_rows = 0
    _padding_row = 0

    def __init__(self, spec_config, mapping, use_separate_draft_kv_cache=False):
        super().__init__(spec_config, mapping, use_separate_draft_kv_cache)
        del self._dflash_attention_backend, self._dummy_slot

    def _name_dummy(self, slots):
        pass
