"""The stand-in attention metadata: what a worker reads and edits of it, with the real save and restore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["attention_class"]


def attention_class(base: type) -> type[Any]:
    """Return a stand-in that is an instance of the class by which the tree finds attention metadata."""

    class Attention(base):  # type: ignore[misc]  # the tree's class is known at run time
        # Plain class attributes: properties of a real base would refuse the assignments below.
        num_contexts: int = 0
        num_seqs: int = 0
        num_ctx_tokens: int = 0
        max_seq_len: int = 0
        kv_cache_manager: Any = None
        _seq_lens: Any = None
        _seq_lens_cuda: Any = None

        def __init__(
            self, contexts: int, lengths: Sequence[int], max_seq_len: int, device: str, manager: Any
        ) -> None:
            self.num_contexts, self.num_seqs = contexts, len(lengths)
            self.num_ctx_tokens, self.max_seq_len = sum(lengths[:contexts]), max_seq_len
            self.kv_cache_manager = manager
            self._seq_lens = torch.tensor(lengths, dtype=torch.int32)
            self._seq_lens_cuda = self._seq_lens.to(device)
            self.kv_lens_cuda = self._seq_lens.to(device).clone()
            self._saved: dict[str, Any] | None = None

        @property
        def has_spec_dec_saved_state(self) -> bool:
            return self._saved is not None

        def prepare_for_spec_dec(self, *fields: str) -> None:
            assert self._saved is None, "prepare_for_spec_dec ran twice without a restore"
            self._saved = {name: getattr(self, name).clone() for name in fields}

        def restore_from_spec_dec(self) -> None:
            for name, value in (self._saved or {}).items():
                getattr(self, name).copy_(value)
            self._saved = None

        def update_for_spec_dec(self) -> None: ...

        def on_update(self) -> None: ...

    return Attention
