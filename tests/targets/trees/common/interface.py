"""A small engine's base classes, with the names and the contract of TensorRT-LLM's."""

# ruff: noqa: TID252  # the package is another one where it is laid

import copy
import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import flashinfer
import torch
from tensorrt_llm.logger import logger
from torch import nn

from ..attention_backend.interface import AttentionMetadata
from ..attention_backend.trtllm import TrtllmAttention
from ..pyexecutor.resource_manager import ResourceManagerType

if not flashinfer.__version__:
    raise ImportError("speculative decoding requires flashinfer")


class SpeculativeDecodingMode(enum.Enum):
    DFLASH = "dflash"
    DSPARK = "dspark"

    def is_dflash(self):
        return self is SpeculativeDecodingMode.DFLASH

    def is_dspark(self):
        return self is SpeculativeDecodingMode.DSPARK

    def extend_ctx(self, backend):
        return issubclass(backend, TrtllmAttention)


@dataclass
class SpecMetadata:
    max_num_requests: int
    max_draft_len: int
    max_total_draft_tokens: int
    num_generations: int = 0
    is_cuda_graph: bool = field(default=False, repr=False)
    spec_dec_mode: Any = None
    draft_tokens: Any = None
    request_ids: Any = None
    num_tokens: int = 0
    runtime_draft_len: int = 0
    runtime_tokens_per_gen_step: int = 1
    num_seq_slots: int = 0
    verify_lens: Any = None
    batch_indices_cuda: Any = None
    layers_to_capture: Any = None
    hidden_size: int = 0
    max_num_tokens: int = 0
    dtype: torch.dtype = torch.float32
    captured_hidden_states: Any = None

    def __post_init__(self):
        self.num_seq_slots = self.num_seq_slots or self.max_num_requests
        self.batch_indices_cuda = torch.empty(self.max_num_requests, dtype=torch.int, device="cuda")
        if self.captured_hidden_states is None:
            width = self.hidden_size * len(self.layers_to_capture)
            self.captured_hidden_states = torch.zeros(self.max_num_tokens, width, dtype=self.dtype, device="cuda")

    def create_cuda_graph_metadata(self, max_batch_size):
        if self.is_cuda_graph:
            return self
        view = copy.copy(self)
        view.is_cuda_graph = True
        view.max_num_requests = max_batch_size
        view.__post_init__()
        return view

    def prepare(self):
        rows = torch.arange(len(self.request_ids), dtype=torch.int)
        self.batch_indices_cuda[: len(self.request_ids)].copy_(rows, non_blocking=True)

    def get_hidden_states(self, count):
        return self.captured_hidden_states[:count]


class SpecWorkerBase(nn.Module, ABC):
    def __init__(self, use_separate_draft_kv_cache=False):
        super().__init__()
        self.use_separate_draft_kv_cache = use_separate_draft_kv_cache

    @property
    @abstractmethod
    def max_draft_len(self): ...

    @abstractmethod
    def _forward_impl(self, *args, **kwargs): ...

    def forward(self, *args, **kwargs):
        attention = kwargs["attn_metadata"]
        assert isinstance(attention, AttentionMetadata)
        try:
            return self._forward_impl(*args, **kwargs)
        finally:
            self._ensure_spec_dec_state_restored(attention, kwargs["spec_metadata"])

    def _ensure_spec_dec_state_restored(self, attn_metadata, spec_metadata):
        del spec_metadata
        if attn_metadata.has_spec_dec_saved_state:
            logger.warning("a forward failed between saving and restoring")
            attn_metadata.restore_from_spec_dec()

    def set_draft_model(self, draft_model):
        self._draft_vocab = getattr(draft_model.config, "vocab_size", None)

    def get_draft_kv_cache_manager(self, resource_manager):
        if not self.use_separate_draft_kv_cache:
            return None
        return resource_manager.get_resource_manager(ResourceManagerType.DRAFT_KV_CACHE_MANAGER)

    def sample_and_accept_draft_tokens(self, logits, attn_metadata, spec_metadata):
        contexts, total = attn_metadata.num_contexts, attn_metadata.num_seqs
        length, gens = spec_metadata.runtime_draft_len, total - contexts
        said = logits.argmax(-1).to(torch.int32)
        tokens = torch.zeros(total, length + 1, dtype=torch.int32, device=logits.device)
        counts = torch.ones(total, dtype=torch.int32, device=logits.device)
        tokens[:contexts, 0] = said[:contexts]
        if gens:
            target = said[contexts:].view(gens, length + 1)
            tokens[contexts:] = target
            drafts = spec_metadata.draft_tokens.view(gens, length)
            counts[contexts:] += (drafts == target[:, :length]).int().cumprod(-1).sum(-1).int()
        return tokens, counts

    def sample_draft_tokens(self, logits):
        return logits.argmax(-1).to(torch.int32)

    def skip_drafting(self, logits, attn_metadata):
        tokens = logits.argmax(-1).to(torch.int32).view(attn_metadata.num_seqs, 1)
        counts = torch.ones(attn_metadata.num_seqs, dtype=torch.int32, device=logits.device)
        none = tokens[:, :0]
        return self._outputs(logits, tokens, counts, none)

    def _outputs(self, logits, tokens, counts, drafts):
        anchor = tokens.gather(1, (counts - 1).long().unsqueeze(1))
        return {
            "logits": logits,
            "new_tokens": tokens,
            "new_tokens_lens": counts,
            "next_draft_tokens": drafts,
            "next_new_tokens": torch.cat([anchor, drafts], dim=1),
        }
