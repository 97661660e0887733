"""The workers of an unpacked SGLang: which of its modules the adapter works with, and how they are imported."""

from __future__ import annotations

from pathlib import Path

from harness.targets.common.released import Package, Tree
from harness.targets.common.released import load_tree as load_package
from harness.targets.sglang.given import ABSENT, NOT_OWN, OWN, given_names

__all__ = ["ROOTS", "load_tree"]

ROOTS = {
    "dflash": "sglang.srt.speculative.dflash_worker_v2",
    "dspark": "sglang.srt.speculative.dspark_components.dspark_worker_v2",
    "sampler": "sglang.srt.speculative.dspark_components.dspark_draft_sampler",
    "markov": "sglang.srt.speculative.dspark_components.dspark_draft",
    "planner": "sglang.srt.speculative.dspark_components.dspark_planner",
    "runner": "sglang.srt.model_executor.runner.decode_cuda_graph_runner",
    "registry": "sglang.srt.model_executor.cuda_graph_buffer_registry",
    "inputs": "sglang.srt.model_executor.input_buffers",
    "graph_config": "sglang.srt.model_executor.cuda_graph_config",
    "draft_input": "sglang.srt.speculative.dflash_info_v2",
    "relay": "sglang.srt.managers.overlap_utils",
    "batch": "sglang.srt.managers.schedule_batch",
    "params": "sglang.srt.sampling.sampling_params",
    "sampling": "sglang.srt.sampling.sampling_batch_info",
    "results": "sglang.srt.managers.utils",
    "forward": "sglang.srt.model_executor.forward_batch_info",
    "logits": "sglang.srt.layers.logits_processor",
    "pools": "sglang.srt.mem_cache.memory_pool",
    "allocator": "sglang.srt.mem_cache.allocator",
    "translator": "sglang.srt.mem_cache.kv_index_translator",
    "allocation": "sglang.srt.mem_cache.allocation",
    "context": "sglang.srt.runtime_context",
    "spec": "sglang.srt.speculative.spec_info",
    "attention": "sglang.srt.layers.attention.base_attn_backend",
    "common": "sglang.srt.speculative.draft_worker_common",
}

_SGLANG = Package("sglang", "SGLang", ROOTS, ("dflash", "dspark"), OWN, NOT_OWN, ABSENT, given_names)


def load_tree(folder: Path, device: str = "") -> Tree:
    """Load the release whose package lies in `folder`, or return it. Raises `LaunchError`, in one line."""
    return load_package(_SGLANG, folder, device)
