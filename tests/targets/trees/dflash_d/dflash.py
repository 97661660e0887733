"""DFlash, family D: a dummy row behind the pool, and no choice of an attention backend yet."""

from .dflash_inline import InlineMetadata, InlineWorker


class DFlashSpecMetadata(InlineMetadata):
    pass


class DFlashWorker(InlineWorker):
    def __init__(self, spec_config, mapping, use_separate_draft_kv_cache=False):
        super().__init__(spec_config, mapping, use_separate_draft_kv_cache)
        del self._dflash_attention_backend
