"""Which modules of vLLM are real, and the few names of all others whose value matters.

What is given here is either a plain statement of the same fact (one process, one rank, no plug-in) or a refusal
of a choice that needs a compiled kernel.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch

from harness.targets.common.released import interpreted

__all__ = ["ABSENT", "NOT_OWN", "OWN", "given_names"]

# Everything below one of these is imported from its file.
OWN = (
    "vllm.compilation.counter",
    "vllm.config.attention",
    "vllm.config.cache",
    "vllm.config.compilation",
    "vllm.config.fault_tolerance",
    "vllm.config.parallel",
    "vllm.config.scheduler",
    "vllm.config.utils",
    "vllm.envs",
    "vllm.forward_context",
    "vllm.model_executor.layers.attention_layer_base",
    "vllm.model_executor.warmup.jit_warmup",
    "vllm.model_executor.warmup.jit_warmup_triton_helper",
    "vllm.platforms.interface",
    "vllm.sampling_params",
    "vllm.sequence",
    "vllm.triton_utils",
    "vllm.utils.hashing",
    "vllm.utils.import_utils",
    "vllm.utils.math_utils",
    "vllm.utils.platform_utils",
    "vllm.utils.torch_utils",
    "vllm.utils.torch_version",
    "vllm.v1.attention.backend",
    "vllm.v1.attention.backends.mla.prefill.registry",
    "vllm.v1.attention.backends.registry",
    "vllm.v1.attention.backends.utils",
    "vllm.v1.core",
    "vllm.v1.kv_cache_interface",
    "vllm.v1.kv_cache_layout",
    "vllm.v1.kv_cache_spec_registry",
    "vllm.v1.outputs",
    "vllm.v1.serial_utils",
    "vllm.v1.worker.block_table",
    "vllm.v1.worker.dp_utils",
    "vllm.v1.worker.gpu",
    "vllm.v1.worker.ubatch_utils",
    "vllm.v1.worker.utils",
    "vllm.v1.worker.workspace",
)
NOT_OWN = ("vllm.triton_utils.importing", "vllm.v1.worker.gpu.metrics")

# Distributions that the real modules import and no step of a worker computes with.
ABSENT = ("cbor2", "cloudpickle", "tqdm", "zmq")


_TOPK = "vllm.v1.sample.ops.topk_topp_sampler"


def given_names() -> dict[tuple[str, str], Any]:
    """Return (module, name) -> value."""
    parallel = "vllm.distributed.parallel_state"
    return {
        ("vllm.logger", "init_logger"): _Logger,
        ("vllm.platforms", "current_platform"): Platform("cpu" if interpreted() else "cuda"),
        ("vllm.triton_utils.importing", "HAS_TRITON"): True,
        ("vllm.config", "get_layers_from_vllm_config"): _layers,
        ("vllm.config", "set_current_vllm_config"): _scope,
        # one rank
        (parallel, "get_pp_group"): Rank,
        ("vllm.distributed", "get_pp_group"): Rank,
        (parallel, "is_global_first_rank"): _no,  # the first one shows a progress bar
        (parallel, "graph_capture"): _scope if interpreted() else _side_stream,
        (parallel, "model_parallel_is_initialized"): _no,
        ("vllm.compilation.cudagraph_pool", "capture_pool"): _scope,
        ("vllm.compilation.breakable_cudagraph", "is_breakable_cudagraph_enabled"): _no,
        ("vllm.v1.worker.cp_utils", "check_attention_cp_compatibility"): _nothing,
        # no offloading, no transfer, no LoRA, no mamba, no flashinfer
        ("vllm.model_executor.offloader", "create_offloader"): _nothing,
        ("vllm.model_executor.offloader", "set_offloader"): _nothing,
        ("vllm.model_executor.offloader", "get_offloader"): Offloader,
        ("vllm.model_executor.offloader.base", "get_offloader"): Offloader,
        ("vllm.distributed.kv_transfer", "has_kv_transfer_group"): _no,
        ("vllm.distributed.ec_transfer", "has_ec_transfer"): _no,
        ("vllm.v1.worker.lora_model_runner_mixin", "LoRAModelRunnerMixin"): NoLora,
        ("vllm.model_executor.layers.mamba.ops.ssu_dispatch", "initialize_mamba_ssu_backend"): _nothing,
        ("vllm.model_executor.layers.mamba.mamba_mixer2", "share_replayssm_ring_trackers"): _nothing,
        ("vllm.config.speculative", "XPRESS_ARCHITECTURES"): (),
        (_TOPK, "register_top_k_top_p_warmups"): _nothing,
        (_TOPK, "flashinfer_sampler_supported"): _no,
        (_TOPK, "xpu_sampler_supported"): _no,
        (_TOPK, "apply_top_k_top_p"): _all_tokens,
        ("vllm.v1.watermarking.spec_decode", "speculative_target_watermark_key"): _nothing,
        ("vllm.config.model", "PROCESSED_LOGPROBS_MODES"): (),  # nobody asks for logprobs
        # models that are handed over and not loaded
        ("vllm.model_executor.model_loader", "get_model_loader"): _nothing,
        ("vllm.model_executor.model_loader.utils", "get_model_cls"): _nothing,
        ("vllm.model_executor.models", "supports_multimodal_embeddings"): _no,
        ("vllm.model_executor.models.interfaces", "supports_eagle3"): _yes,
        ("vllm.model_executor.models.interfaces", "requires_raw_input_tokens"): _no,
        ("vllm.model_executor.models.interfaces", "get_mixture_of_experts_model"): _nothing,
        ("vllm.model_executor.models.qwen3_dflash", "dflash_has_any_non_causal"): _yes,
        ("vllm.model_executor.models.utils", "extract_layer_index"): _layer_index,
        # memory is not what is measured here
        ("vllm.utils.mem_utils", "DeviceMemoryProfiler"): Memory,
        ("vllm.utils.mem_utils", "format_gib"): str,
        ("vllm.utils.gc_utils", "freeze_gc_for_cudagraph_capture"): _scope,
        ("vllm.utils", "random_uuid"): _nothing,
    }


def _no(*_: Any, **__: Any) -> bool:
    return False


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> None: ...


def _all_tokens(logits: Any, top_k: None, top_p: None, **_: Any) -> Any:
    """No request asks for fewer than all tokens."""
    assert top_k is None
    assert top_p is None
    return logits


@contextlib.contextmanager
def _scope(value: Any = None, *_: Any, **__: Any) -> Iterator[Any]:
    yield value


@contextlib.contextmanager
def _side_stream(device: Any) -> Iterator[None]:
    """Capture beside the default stream, which cannot be captured."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield


def _layers(vllm_config: Any, kind: type, names: Any = None) -> dict[str, Any]:
    """Return the layers that stand in the engine's configuration, of a kind and by their names."""
    layers = vllm_config.compilation_config.static_forward_context
    wanted = layers if names is None else names
    return {name: layers[name] for name in wanted if isinstance(layers[name], kind)}


def _layer_index(name: str, *_: Any) -> int:
    return int(name.rpartition(".")[2])


class Rank:
    """A group of one process."""

    world_size = 1
    rank_in_group = 0
    is_last_rank = True
    is_first_rank = True


class Offloader:
    """Weights stay where they are."""

    def post_init(self) -> None:
        """Nothing is on its way."""

    sync_prev_onload = join_after_forward = post_init


class NoLora:
    """A model runner without adapters."""

    def maybe_setup_dummy_loras(self, *_: Any, **__: Any) -> Any:
        """Return a scope in which nothing is different."""
        return _scope()

    def maybe_dummy_run_with_lora(self, *_: Any, **__: Any) -> Any:
        """Return a scope in which nothing is different."""
        return _scope()


class Memory:
    """A profiler of a device's memory that has nothing to say."""

    consumed_memory = 0

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: Any) -> None: ...


class _Logger(logging.LoggerAdapter[logging.Logger]):
    """The engine's logger without its handlers: it also says things once a process."""

    said: ClassVar[set[tuple[object, ...]]] = set()

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name))
        self.debug_once, self.info_once, self.warning_once = map(self._once, (self.debug, self.info, self.warning))

    def _once(self, say: Callable[..., None]) -> Callable[..., None]:
        def say_once(message: str, *values: object, **_: object) -> None:
            what = (self.logger.name, message, *map(str, values))
            if what not in self.said:
                self.said.add(what)
                say(message, *values)

        return say_once


class Platform:
    """One device on which the engine's kernels run. What else may be asked of a platform is no fact here.

    The engine copies what it keeps on the host, for a view of pinned memory needs its compiled code.
    """

    device_name = "stand-in"
    graph_pool: Any = None  # of the present session, on CUDA

    def __init__(self, device_type: str) -> None:
        self.device_type, self.dispatch_key = device_type, device_type.upper()

    def is_cuda(self) -> bool:
        """Its tensors are where kernels run."""
        return True

    is_cuda_alike = is_cuda

    def is_cpu(self) -> bool:
        """No code for a CPU is asked for."""
        return False

    is_rocm = is_xpu = is_tpu = is_zen_cpu = is_out_of_tree = is_cpu
    is_pin_memory_available = use_custom_allreduce = is_cpu

    def set_additional_forward_context(self, **_: Any) -> dict[str, Any]:
        """Forwards are told what the engine tells every platform."""
        return {}

    def get_global_graph_pool(self) -> Any:
        """Return the pool that graphs share; what the host captures on a CPU has none."""
        return self.graph_pool
