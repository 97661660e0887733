"""Which modules of SGLang are real, and the few names of all others whose value matters.

What is given here is either a plain statement of the same fact (one process, one rank, no plug-in) or a refusal
of a choice that needs a compiled kernel.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

__all__ = ["ABSENT", "NOT_OWN", "OWN", "given_names"]

_SRT = "sglang.srt"

# Everything below one of these is imported from its file.
OWN = (
    "sglang.kernels.kernel_api_logging",
    "sglang.kernels.ops.kvcache",
    "sglang.kernels.ops.memory",
    "sglang.kernels.ops.quantization.fp8_kernel",
    "sglang.kernels.ops.speculative",
    "sglang.kernels.registry",
    "sglang.kernels.spec",
    f"{_SRT}.arg_groups",
    f"{_SRT}.beam_search.batch_tail",
    f"{_SRT}.configs.deepseek_v41",
    f"{_SRT}.configs.draft_parallel",
    f"{_SRT}.configs.shared_experts",
    f"{_SRT}.constants",
    f"{_SRT}.dllm.config",
    f"{_SRT}.dllm.mixin",
    f"{_SRT}.environ",
    f"{_SRT}.layers.attention.base_attn_backend",
    f"{_SRT}.layers.attention.dsa.utils",
    f"{_SRT}.layers.attention.graph_variants",
    f"{_SRT}.layers.deep_gemm_wrapper.configurer",
    f"{_SRT}.layers.dp_attention",
    f"{_SRT}.layers.logits_processor",
    f"{_SRT}.layers.moe.utils",
    f"{_SRT}.layers.quantization.fp4_kv_cache_quant_method",
    f"{_SRT}.managers.overlap_utils",
    f"{_SRT}.managers.schedule_batch",
    f"{_SRT}.managers.utils",
    f"{_SRT}.mem_cache",
    f"{_SRT}.model_executor.cuda_graph_buffer_registry",
    f"{_SRT}.model_executor.cuda_graph_config",
    f"{_SRT}.model_executor.forward_batch_info",
    f"{_SRT}.model_executor.forward_context",
    f"{_SRT}.model_executor.input_buffers",
    f"{_SRT}.model_executor.runner",
    f"{_SRT}.model_executor.runner_backend_utils.breakable_cuda_graph.context",
    f"{_SRT}.model_executor.runner_utils",
    f"{_SRT}.platforms",
    f"{_SRT}.plugins",
    f"{_SRT}.runtime_context",
    f"{_SRT}.sampling",
    f"{_SRT}.server_args",
    f"{_SRT}.speculative",
    f"{_SRT}.utils",
)

# Below one of those, and yet not real: it is about files of models, of which there are none.
NOT_OWN = (f"{_SRT}.utils.hf_transformers", f"{_SRT}.utils.hf_transformers_utils")

# Distributions that the real modules import and no step of a worker computes with.
ABSENT = (
    "PIL", "aiohttp", "dill", "fastapi", "filelock", "flashinfer", "huggingface_hub", "orjson", "pybase64",
    "pydantic", "pydantic_core", "requests", "setproctitle", "starlette", "tqdm", "transformers", "uvicorn",
    "yaml", "zmq",
)  # fmt: skip


def given_names() -> dict[tuple[str, str], Any]:
    """Return (module, name) -> value."""
    return {
        ("sglang.kernels.jit.utils", "cache_once"): functools.cache,
        (f"{_SRT}.distributed.parallel_state", "patch_pipeline_parallel_group"): _no_scope,
        (f"{_SRT}.distributed.parallel_state", "get_self_pp_group"): lambda: None,
        (f"{_SRT}.hardware_backend.mlx.runtime", "use_mlx"): _no,
        (f"{_SRT}.batch_overlap.two_batch_overlap", "TboCudaGraphRunnerPlugin"): _NoOverlap,
        (f"{_SRT}.layers.cp.utils", "is_mla_cp_enabled"): _no,
        (f"{_SRT}.lora.layers", "unwrap_lora_layer"): _itself,
        (f"{_SRT}.model_loader.weight_utils", "get_pp_stage_load_group"): _nothing,
        (f"{_SRT}.configs.hybrid_arch", "mambaish_config"): _nothing,
        (f"{_SRT}.kernel_plugins.nvidia.binding", "megakernel_draft_sampler"): _nothing,
        (f"{_SRT}.observability.req_time_stats", "SchedulerReqTimeStats"): _NoTimes,
        (f"{_SRT}.disaggregation.utils", "FAKE_BOOTSTRAP_HOST"): "",
        ("sglang.kernels.ops.attention.dsv4.unified_kv_kernels.env_gate", "is_unified_kv_triton"): _no,
    }


def _no(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> None: ...


def _itself(value: Any) -> Any:
    return value


@contextlib.contextmanager
def _no_scope(*_: Any, **__: Any) -> Any:
    yield


class _NoOverlap:
    """Two-batch overlap is off: there is nothing to prepare for a second batch."""

    def capture_one_batch_size(self, *_: Any, **__: Any) -> None:
        """Nothing to capture."""


class _NoTimes:
    """When a request went where is of no interest: every time that is set is let go."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("set_"):
            raise AttributeError(name)
        return _nothing
