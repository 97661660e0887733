"""The workers of an unpacked vLLM: which of its modules the adapter works with, and how they are imported."""

from __future__ import annotations

from pathlib import Path

from harness.targets.common.released import Package, Tree
from harness.targets.common.released import load_tree as load_package
from harness.targets.vllm.given import ABSENT, NOT_OWN, OWN, given_names

__all__ = ["ROOTS", "load_tree"]

_GPU = "vllm.v1.worker.gpu"
ROOTS = {
    "dflash": f"{_GPU}.spec_decode.dflash.speculator",
    "dspark": f"{_GPU}.spec_decode.dspark.speculator",
    "runner": f"{_GPU}.model_runner",
    "graphs": f"{_GPU}.cudagraph_utils",
    "states": f"{_GPU}.states",
    "workspace": "vllm.v1.worker.workspace",
    "scheduler": "vllm.config.scheduler",
    "parallel": "vllm.config.parallel",
    "cache": "vllm.config.cache",
    "compilation": "vllm.config.compilation",
    "attention_config": "vllm.config.attention",
    "attention": "vllm.v1.attention.backend",
    "layers": "vllm.model_executor.layers.attention_layer_base",
    "context": "vllm.forward_context",
    "kv": "vllm.v1.kv_cache_interface",
    "block_pool": "vllm.v1.core.block_pool",
    "blocks": "vllm.v1.core.kv_cache_utils",
    "sched": "vllm.v1.core.sched.output",
    "sampling": "vllm.sampling_params",
}

_VLLM = Package("vllm", "vLLM", ROOTS, ("dflash", "dspark"), OWN, NOT_OWN, ABSENT, given_names)


def load_tree(folder: Path, device: str = "") -> Tree:
    """Load the release whose package lies in `folder`, or return it. Raises `LaunchError`, in one line."""
    return load_package(_VLLM, folder, device)
