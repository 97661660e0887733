"""DFlash, family E: worker and draft model agree on an attention backend."""

from .dflash_inline import InlineMetadata, InlineWorker


class DFlashSpecMetadata(InlineMetadata):
    pass


class DFlashWorker(InlineWorker):
    def _lazy_init_ctx_buffers(self, draft_model, spec_metadata, attn_metadata):
        assert draft_model.dflash_attention_backend == self._dflash_attention_backend
        super()._lazy_init_ctx_buffers(draft_model, spec_metadata, attn_metadata)
