"""The few names outside the tree's own modules whose value matters, and the value the harness gives them.

Ids of padding are read from the tree's text where it has it. Everything else here says no to a choice that
needs a GPU kernel, or is a plain statement of the same computation (an append to pages).
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.common.imports import constant, module_file

__all__ = ["Recorder", "given_names"]

_T = "tensorrt_llm"
_TORCH = "tensorrt_llm._torch"
_BACKENDS = (
    "attention_backend", "attention_backend.interface", "attention.backends", "attention.backends.interface"
)  # fmt: skip


class Recorder:
    """A logger that keeps what was said, by level."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def __getattr__(self, level: str) -> Any:
        if level.startswith("__"):
            raise AttributeError(level)
        return lambda message="", *_, **__: self.said.append((level.partition("_")[0], str(message)))


class ProfilerRange(contextlib.ContextDecorator):
    """A named range for a profiler, around a block or a function: nothing is recorded."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> ProfilerRange:
        return self

    def __exit__(self, *_: object) -> None: ...


class AttentionMetadata:
    """The class that stands for the engine's attention metadata: one for every path it is imported by."""


class _Fmha:
    """What the paged draft backend asks of its kernel's description; the kernel itself is never called."""

    SUPPORTED_INPUT_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
    SUPPORTED_TOKENS_PER_BLOCK = (8, 16, 32, 64)
    MAX_HEADS_RATIO_GENERATION = 64
    UNSUPPORTED_HEAD_SIZES_CONTEXT: tuple[int, ...] = ()

    @staticmethod
    def _missing_fused_nanobind_ops() -> tuple[str, ...]:
        return ()


def append_paged_kv_cache(
    append_key: Any, append_value: Any, batch_indices: Any, positions: Any, paged_kv_cache: Any,
    kv_indices: Any, kv_indptr: Any, kv_last_page_len: Any, kv_layout: str = "HND",
) -> None:  # fmt: skip
    """Write key and value of each token to its page: flashinfer's append for the layout pages first."""
    del kv_last_page_len
    if kv_layout != "HND":
        raise NotImplementedError(f"append_paged_kv_cache in layout {kv_layout}")
    size = paged_kv_cache.shape[3]
    positions = positions.long()
    pages = kv_indices[(kv_indptr[batch_indices.long()] + positions // size).long()].long()
    paged_kv_cache[pages, 0, :, positions % size] = append_key
    paged_kv_cache[pages, 1, :, positions % size] = append_value


def inplace_slice_copy(target: Any, source: Any, start: int, stop: int) -> None:
    """Write `source` into columns start..stop of the first rows of `target`."""
    target[: source.shape[0], start:stop].copy_(source)


def given_names(tree: Path, logger: Recorder) -> dict[tuple[str, str], Any]:
    """Return (module, name) -> value."""
    ids = {
        ("pyexecutor.llm_request", "ATTENTION_DP_DUMMY_REQUEST_ID"): 0,
        ("pyexecutor.cuda_graph_runner", "CUDA_GRAPH_DUMMY_REQUEST_ID"): (1 << 64) - 1,
    }
    names: dict[tuple[str, str], Any] = {
        (f"{_TORCH}.{module}", name): constant(module_file(tree, f"{_TORCH}.{module}"), name, value)
        for (module, name), value in ids.items()
    }
    names |= {(f"{_TORCH}.{module}", "AttentionMetadata"): AttentionMetadata for module in _BACKENDS}
    for backends in ("attention_backend", "attention.backends"):
        names[f"{_TORCH}.{backends}.fmha.flashinfer_trtllm_gen", "FlashInferTrtllmGenFmha"] = _Fmha
    names |= {
        (f"{_T}.logger", "logger"): logger,
        (f"{_T}._utils", "prefer_pinned"): lambda: False,
        (f"{_T}._utils", "nvtx_range"): ProfilerRange,
        (f"{_T}._utils", "nvtx_range_debug"): ProfilerRange,
        (f"{_T}._utils", "get_sm_version"): lambda: 100,
        (f"{_T}._utils", "is_sm_100f"): lambda *_: True,
        (f"{_TORCH}.flashinfer_utils", "IS_FLASHINFER_AVAILABLE"): True,
        (f"{_TORCH}.cute_dsl_utils", "IS_CUTLASS_DSL_AVAILABLE"): False,
        (f"{_TORCH}.custom_ops", "inplace_slice_copy"): inplace_slice_copy,
        ("flashinfer", "__version__"): "0.6.4",
        ("flashinfer", "page"): SimpleNamespace(append_paged_kv_cache=append_paged_kv_cache),
    }
    return names
