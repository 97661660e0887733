"""Builds what a session drives: the engine's configuration, pools, runners and worker, each by its own code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from harness.scenario import Config
from harness.targets.base import Capture
from harness.targets.common.toy import MASK_TOKEN
from harness.targets.sglang.cache import PrefixCache
from harness.targets.sglang.models import HEADS, LAYERS, WIDTH, DFlashDrafter, DSparkDrafter, TargetModel
from harness.targets.sglang.runtime import GraphBackend, ModelRunner, Rank, TpWorker, call_known

__all__ = ["Parts", "Pools", "build"]

_PLENTY = 80.0  # GB of memory that one release asks for before it folds its sampler into a graph


@dataclass
class Pools:
    """The engine's own pools: rows of requests, locations of tokens, and the keys and values there."""

    requests: Any
    allocator: Any
    target: Any
    draft: Any


@dataclass
class Parts:
    """One worker with its target, their graph runners, and the relay between steps.

    `undo` puts back what a session changed in the process.
    """

    tree: Any
    pools: Pools
    target: TpWorker
    draft: ModelRunner
    worker: Any
    relay: Any
    algorithm: Any
    cache: PrefixCache
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)


def build(tree: Any, config: Config, device: str, capture: Capture) -> Parts:
    """Build the worker that `config` names, with its own code wherever that computes with rows."""
    columns = config.max_seq_len + 4 * (config.draft_len + 1)
    _publish(tree, config, device)
    pools = _pools(tree, config, columns, device)
    algorithm = tree.spec.SpeculativeAlgorithm.from_string(config.worker.upper())
    target = _runner(tree, pools, algorithm, config, columns, device, draft=False)
    draft = _runner(tree, pools, algorithm, config, columns, device, draft=True)
    target_worker = TpWorker(tree, target)
    worker = _worker(tree, config, target_worker, TpWorker(tree, draft))
    relay = tree.relay.FutureMap(
        device, algorithm, pools.requests, needs_cpu_seq_lens=True,
        needs_confidence_relay=tree.relay.decide_needs_confidence_relay(),
    )  # fmt: skip
    for runner in (target, draft):
        runner.decode_cuda_graph_runner = _graph_runner(tree, runner, capture)
    _attach_samplers(tree, config, worker, draft)
    return Parts(
        tree, pools, target_worker, draft, worker, relay, algorithm, PrefixCache(config.seats, pools.allocator)
    )


def _publish(tree: Any, config: Config, device: str) -> None:
    """Publish the configuration as the engine does, and the ranks of a single process."""
    buckets = sorted(config.buckets) or [config.max_num_requests]
    graphs = tree.graph_config
    tree.context.get_context().override_server_args(
        device=device.partition(":")[0],
        speculative_algorithm=config.worker.upper(),
        speculative_num_draft_tokens=config.draft_len + 1,
        page_size=1,
        max_running_requests=config.seats,
        cuda_graph_config=graphs.CudaGraphConfig(
            decode=graphs.PhaseConfig(backend=graphs.Backend.FULL, bs=buckets, max_bs=buckets[-1]),
            prefill=graphs.PhaseConfig(),
        ),
    ).install()
    one = Rank()
    parallel = tree.context.get_parallel()
    parallel.clear_stamp()
    parallel.override_permanently(
        tp_rank=0, pp_rank=0, attn_tp_rank=0, attn_dp_rank=0, attn_cp_rank=0,
        tp_group=one, pp_group=one, attn_tp_group=one,
    )  # fmt: skip


def _pools(tree: Any, config: Config, columns: int, device: str) -> Pools:
    requests = tree.pools.ReqToTokenPool(config.seats, columns, device, enable_memory_saver=False)
    tokens = 2 * (config.seats + 1) * columns  # of live requests, and of prefixes that the cache keeps

    def kv() -> Any:
        return tree.pools.MHATokenToKVPool(
            size=tokens, page_size=1, dtype=torch.float32, head_num=HEADS, head_dim=WIDTH, layer_num=LAYERS,
            device=device, enable_memory_saver=False, enable_alt_stream=False,
        )  # fmt: skip

    target = kv()
    allocator = tree.allocator.TokenToKVPoolAllocator(tokens, torch.int64, device, target, need_sort=False)
    return Pools(requests, allocator, target, kv())


def _runner(
    tree: Any, pools: Pools, algorithm: Any, config: Config, columns: int, device: str, *, draft: bool
) -> ModelRunner:
    kind = {"dflash": DFlashDrafter, "dspark": DSparkDrafter}[config.worker] if draft else TargetModel
    pool = pools.draft if draft else pools.target
    model = kind(tree, pool, pools.requests.req_to_token, device)
    width = config.draft_len if draft and config.worker == "dspark" else config.draft_len + 1
    return ModelRunner(
        tree, model, pools, pool, algorithm, device=device, width=width, context_len=columns, draft=draft
    )


def _worker(tree: Any, config: Config, target: TpWorker, draft: TpWorker) -> Any:
    """Build the worker by its own constructor; only the draft model that it loads is put in its hands."""
    module = getattr(tree, config.worker)
    if hasattr(tree.planner, "compute_confidence"):  # releases before 0.5.22 compute it from a real head's weights
        draft.model_runner.model.confidence_head = None
    draft.model_runner.model_config.hf_config.dflash_config = {
        "mask_token_id": MASK_TOKEN, "block_size": config.draft_len + (config.worker == "dflash"),
    }  # fmt: skip

    def load_draft(**_: Any) -> Any:
        return SimpleNamespace(
            draft_worker=draft, draft_model_runner=draft.model_runner, draft_model=draft.model_runner.model,
            resolved_attention_backend="stand-in",
        )  # fmt: skip

    with _replaced(module, "build_draft_tp_worker", load_draft):
        classes = {"dflash": "DFlashWorkerV2", "dspark": "DSparkWorkerV2"}
        worker = getattr(module, classes[config.worker])(tree.context.get_server_args(), 0, 0, target)
    # Its kernels run on a CPU too, in the interpreter: as on CUDA, it is not to go round them.
    worker._use_triton_prepare_block = worker._use_triton_accept_bonus = True
    return worker


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _graph_runner(tree: Any, runner: ModelRunner, capture: Capture) -> Any:
    """Build the engine's decode graph runner: its buckets, buffers and padding, with nothing captured yet."""
    backend = GraphBackend(capture)

    class Runner(tree.runner.DecodeCudaGraphRunner):  # type: ignore[misc]  # known at run time
        def capture(self) -> None:
            """The scenario says what is captured, and when."""

    with _replaced(tree.runner, "resolve_decode_backend", lambda _: backend):
        return Runner(runner)


def _attach_samplers(tree: Any, config: Config, worker: Any, draft: ModelRunner) -> None:
    """Do what the worker's `init_cuda_graphs` does before it captures: fold the sampler into the draft graph."""
    worker._draft_sampler = call_known(worker._maybe_build_draft_sampler, available_memory_gb=_PLENTY)
    draft.capture_tail_hooks.append(tree.common.make_draft_sampler_capture_hook(worker._draft_sampler))
    if config.worker == "dspark":
        worker._proposer.attach_draft_sampler(worker._draft_sampler)
