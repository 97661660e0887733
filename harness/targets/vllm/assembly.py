"""Builds what a session drives: the engine's configuration, its model runner and caches, each by its own code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.scenario import Config
from harness.targets.base import Capture
from harness.targets.common.kernels import point_at
from harness.targets.vllm.blocks import Blocks
from harness.targets.vllm.config import BLOCK, make_config
from harness.targets.vllm.device import recorded
from harness.targets.vllm.models import (
    HEADS,
    LAYERS,
    WIDTH,
    DFlashDrafter,
    DSparkDrafter,
    TargetModel,
    layer_class,
)

__all__ = ["Parts", "build"]


@dataclass
class Parts:
    """One model runner with its speculator and the models in them. `undo` puts back what a session changed."""

    tree: Any
    runner: Any
    target: TargetModel
    drafter: DFlashDrafter | DSparkDrafter
    blocks: Blocks
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def speculator(self) -> Any:
        """The engine's DFlash or DSpark."""
        return self.runner.speculator

    @property
    def graphs(self) -> tuple[Any, Any]:
        """The engine's graph managers, the target's first."""
        return self.runner.cudagraph_manager, self.speculator.query_cudagraph_manager


def build(tree: Any, config: Config, device: str, capture: Capture) -> Parts:
    """Build the worker that `config` names, with its own code wherever that computes with rows."""
    settings = make_config(tree, config)
    undo = contextlib.ExitStack()
    if device.startswith("cuda"):
        # One pool for both graph managers, as the engine has it: but a session's, for it ends with its last graph.
        tree.graphs.current_platform.graph_pool = torch.cuda.graph_pool_handle()
    else:
        _captured_by(tree, capture, undo)
    tree.workspace.init_workspace_manager(torch.device(device))
    runner = tree.runner.GPUModelRunner(settings, torch.device(device))
    target, drafter = _load(tree, runner, settings, config)
    per_seat = -(-settings.model_config.max_model_len // BLOCK)
    cache = _cache_config(tree, settings, 1 + 2 * config.seats * per_seat)
    runner.initialize_kv_cache(cache)
    pool = tree.block_pool.BlockPool(cache.num_blocks, enable_caching=False, hash_block_size=BLOCK)
    tables = runner.block_tables
    point_at(lambda: (*tables.input_block_tables, *(table.gpu for table in tables.block_tables)))
    return Parts(tree, runner, target, drafter, Blocks(pool, config.seats), undo)


def _captured_by(tree: Any, capture: Capture, undo: contextlib.ExitStack) -> None:
    """Let what the engine's capture loop runs under a graph be captured by the host."""
    manager = tree.graphs.CudaGraphManager
    loop = manager.capture

    def looped(self: Any, make_forward: Callable[..., Any], *rest: Any) -> None:
        loop(self, lambda *args, **options: recorded(make_forward(*args, **options), capture), *rest)

    undo.callback(setattr, manager, "capture", loop)
    undo.callback(setattr, tree.graphs, "current_stream", tree.graphs.current_stream)
    manager.capture = looped
    tree.graphs.current_stream = torch.cuda.current_stream


def _load(tree: Any, runner: Any, settings: Any, config: Config) -> tuple[TargetModel, Any]:
    """Put the models in the engine's hands; what it would load from files is handed over."""
    layer = layer_class(tree)
    spec = tree.kv.FullAttentionSpec(block_size=BLOCK, num_kv_heads=HEADS, head_size=WIDTH, dtype=torch.float32)
    layers = settings.compilation_config.static_forward_context
    names = {kind: [f"{kind}.layers.{index}" for index in range(LAYERS)] for kind in ("target", "draft")}

    def make(kind: str, model: Any) -> Any:
        layers.update((name, layer(spec)) for name in names[kind])
        return model(tree, names[kind], [layers[name] for name in names[kind]])

    target = make("target", TargetModel)
    made: list[Any] = []

    def load_draft_model(*_: Any) -> Any:
        made.append(make("draft", {"dflash": DFlashDrafter, "dspark": DSparkDrafter}[config.worker]))
        return made[0]

    runner.speculator.load_draft_model = load_draft_model
    runner.load_model(model=target)
    return target, made[0]


def _cache_config(tree: Any, settings: Any, blocks: int) -> Any:
    """Return one group with the layers of both models: where both attend alike they have one block table."""
    layers = settings.compilation_config.static_forward_context
    names = list(layers)
    spec = layers[names[0]].get_kv_cache_spec(settings)
    page = spec.page_size_bytes
    tensor = tree.kv.KVCacheTensor(
        size=page * blocks * len(names), layers=names, layer_stride=page * blocks, block_stride=page
    )
    return tree.kv.KVCacheConfig(
        num_blocks=blocks, kv_cache_tensors=[tensor], kv_cache_groups=[tree.kv.KVCacheGroupSpec(names, spec)]
    )
