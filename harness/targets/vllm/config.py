"""The configuration that a session is opened with: the engine's own records where they size or place anything.

Scheduler, parallel, compilation, cache and attention configuration are the engine's. What is said of models and of
speculation is a plain statement: there is no checkpoint that it could be read from.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from harness.scenario import Config
from harness.targets.common.toy import HIDDEN, MASK_TOKEN, VOCAB
from harness.targets.vllm.models import LAYERS

__all__ = ["BLOCK", "make_config"]

BLOCK = 4  # tokens of a block: small, so that every request has several
_FEWEST_TOKENS = 16  # of a step; a longer prompt is prefilled in chunks, as by the engine's own scheduler


def make_config(tree: Any, config: Config) -> Any:
    """Return the engine's configuration for `config`: `max_num_seqs` is its seats, nothing is sized otherwise."""
    width = config.draft_len + 1
    length = config.max_seq_len + 4 * width
    sizes = sorted({bucket * width for bucket in config.buckets or (config.max_num_requests,)})
    tokens = max(config.seats * width, _FEWEST_TOKENS)
    speculation = _Speculation(config)
    cache = tree.cache.CacheConfig(block_size=BLOCK)
    cache.kv_cache_layout = "LBNHC"  # resolved by the engine core
    return SimpleNamespace(
        model_config=_model(length),
        speculative_config=speculation,
        num_speculative_tokens=config.draft_len,
        num_prefill_lookahead_tokens=1,  # as for every drafter that reads one token ahead
        max_concurrent_batches=2,  # as with asynchronous scheduling
        scheduler_config=tree.scheduler.SchedulerConfig(
            max_model_len=length, is_encoder_decoder=False, max_num_seqs=config.seats,
            max_num_batched_tokens=tokens, enable_chunked_prefill=True,
        ),
        parallel_config=tree.parallel.ParallelConfig(),
        cache_config=cache,
        attention_config=tree.attention_config.AttentionConfig(),
        compilation_config=tree.compilation.CompilationConfig(
            cudagraph_mode=tree.compilation.CUDAGraphMode.FULL_DECODE_ONLY, cudagraph_capture_sizes=sizes,
            max_cudagraph_capture_size=sizes[-1], backend="eager",
            inductor_compile_config={"combo_kernels": False},  # else it asks torch's compiler for its defaults
        ),
        load_config=None, lora_config=None, watermark_config=None, reasoning_config=None, mamba_config=None,
        offload_config=None, kv_transfer_config=None, ec_transfer_config=None, diffusion_config=None,
        observability_config=SimpleNamespace(cudagraph_metrics=False, enable_mm_processor_stats=False),
        aux_output_config=SimpleNamespace(enabled=False), use_cumem_cudagraph_pool=False,
    )  # fmt: skip


class _Speculation:
    """What the engine asks of its speculative configuration."""

    # Pools of logits a request exist only where drafts are sampled; at temperature 0 that is the largest logit.
    draft_sample_method = "probabilistic"
    rejection_sample_method = "standard"
    use_local_argmax_reduction = enable_adaptive_verification = False
    fly_entropy_threshold = fly_entropy_top_k = 0
    attention_backend = kv_cache_dtype = None

    def __init__(self, config: Config) -> None:
        self.method = config.worker
        self.num_speculative_tokens = config.draft_len
        self.draft_model_config = _model(0)

    def use_dspark(self) -> bool:
        """Whether the drafter is DSpark."""
        return self.method == "dspark"

    def use_ngram(self) -> bool:
        """There is a draft model."""
        return False

    def uses_dynamic_speculative_decoding(self) -> bool:
        """Every step drafts as many tokens as were configured."""
        return False


def _model(length: int) -> SimpleNamespace:
    hf_config = SimpleNamespace(
        model_type="stand-in",
        dflash_config={"mask_token_id": MASK_TOKEN, "target_layer_ids": list(range(LAYERS))},
    )
    return SimpleNamespace(
        model="stand-in", architectures=["StandIn"], hf_config=hf_config, max_model_len=length,
        dtype=torch.float32, head_dtype=torch.float32,
        runner_type="generate", logprobs_mode="raw_logprobs", logits_processors=None, rswa_window=None,
        is_encoder_decoder=False, supports_multimodal_inputs=False, enable_prompt_embeds=False, is_moe=False,
        is_hybrid=False, is_attention_free=False, is_mm_prefix_lm=False, uses_mrope=False, use_mla=False,
        use_fp64_gumbel=False, enable_trace_replay=False, return_sampling_mask=False, uses_xdrope_dim=0,
        get_hidden_size=lambda: HIDDEN, get_inputs_embeds_size=lambda: HIDDEN, get_vocab_size=lambda: VOCAB,
    )  # fmt: skip
