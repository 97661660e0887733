"""Builds what a session drives: metadata and worker by the tree's own factories, stand-ins around them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from harness.errors import LaunchError
from harness.scenario import Config
from harness.targets.base import UnsupportedError
from harness.targets.common.toy import HIDDEN, VOCAB
from harness.targets.tensorrt_llm.drafters import ContextDrafter, PageDrafter, WindowDrafter
from harness.targets.tensorrt_llm.loader import Tree
from harness.targets.tensorrt_llm.managers import DraftManager, HistoryManager, Resources
from harness.targets.tensorrt_llm.shapes import Shape, recognise
from harness.targets.tensorrt_llm.variant import Variant

__all__ = ["Parts", "build"]

_FACTORIES = ("get_spec_metadata", "get_spec_worker")


@dataclass
class Parts:
    """One worker with its eager metadata (both the tree's own), and the stand-ins that it works with.

    max_seq_len  tokens that any request may reach; more than the configuration says, because running requests
                 ride along in the batches that admit others.
    """

    worker: Any
    metadata: Any
    shape: Shape
    drafter: Any
    resources: Resources
    max_seq_len: int

    @property
    def manager(self) -> Any:
        """The cache manager at this moment, None where the worker needs none."""
        return self.resources.manager


def build(tree: Tree, config: Config, variant: Variant, device: str) -> Parts:
    """Build a worker. Raises `LaunchError` for a tree that cannot, `UnsupportedError` for a form it lacks."""
    missing = [name for name in _FACTORIES if not hasattr(tree.utils, name)]
    if missing:
        raise LaunchError(f"{tree.utils.__name__} has no {' and no '.join(missing)} to build a worker with")
    limit = 2 * config.max_seq_len + 8 * (config.draft_len + 1)
    metadata = _metadata(tree, config, variant, limit)
    separate = config.worker == "dflash" and variant.layout in ("managed", "mla")
    worker = _worker(tree, _spec_config(tree, config, variant), separate)
    shape = recognise(worker)
    if separate and not shape.managed:
        raise UnsupportedError(f"{shape.family} takes no draft cache manager: it has no layout {variant.layout!r}")
    drafter = _drafter(shape, config, variant, limit, device)
    worker.set_draft_model(drafter)
    manager = _manager(shape, config, variant, limit, device)
    return Parts(worker, metadata, shape, drafter, Resources(manager), limit)


def _spec_config(tree: Tree, config: Config, variant: Variant) -> SimpleNamespace:
    mode = tree.interface.SpeculativeDecodingMode
    return SimpleNamespace(
        max_draft_len=config.draft_len,
        tokens_per_gen_step=config.draft_len + 1,
        spec_dec_mode=mode.DFLASH if config.worker == "dflash" else mode.DSPARK,
        target_layer_ids=[0],
        mask_token_id=None,
        attention_backend="TRTLLM" if variant.layout in ("paged", "managed") else "VANILLA",
        advanced_sampling_mode=SimpleNamespace(is_universal=False, is_fused=False),
        draft_is_embedded_in_target=config.worker == "dspark" and variant.dspark == "embedded",
        use_rejection_sampling=False,
        enable_penalty=False,
        speculative_model=None,
    )


def _metadata(tree: Tree, config: Config, variant: Variant, limit: int) -> Any:
    model = SimpleNamespace(hidden_size=HIDDEN, torch_dtype=torch.float32, vocab_size=VOCAB)
    arguments: dict[str, Any] = {
        "max_num_requests": config.max_num_requests,
        "max_num_tokens": config.max_num_requests * (config.draft_len + 1) + config.max_seq_len,
        "max_seq_len": limit,
        "num_seq_slots": config.num_seq_slots or None,
    }
    known = inspect.signature(tree.utils.get_spec_metadata).parameters
    arguments = {name: value for name, value in arguments.items() if name in known}
    metadata = tree.utils.get_spec_metadata(_spec_config(tree, config, variant), model, **arguments)
    if metadata is None:
        raise LaunchError(f"{tree.utils.__name__}.get_spec_metadata knows no speculative mode {config.worker}")
    return metadata


def _worker(tree: Tree, spec_config: SimpleNamespace, separate: bool) -> Any:
    mapping = SimpleNamespace(rank=0, tp_size=1, tp_rank=0, enable_attention_dp=False)
    try:
        worker = tree.utils.get_spec_worker(
            spec_config, SimpleNamespace(), mapping, **({"use_separate_draft_kv_cache": True} if separate else {})
        )
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        why = f"{type(error).__name__}: {reason}"
        raise LaunchError(f"{tree.folder}: the worker cannot be built: {why}") from error
    if worker is None:
        raise LaunchError(f"{tree.utils.__name__}.get_spec_worker knows no such worker")
    return worker


def _drafter(shape: Shape, config: Config, variant: Variant, limit: int, device: str) -> Any:
    if shape.drafter == "context":
        return ContextDrafter(variant.layout, config.draft_len, limit, device)
    return WindowDrafter(config.draft_len) if shape.drafter == "windows" else PageDrafter(config.draft_len)


def _manager(shape: Shape, config: Config, variant: Variant, limit: int, device: str) -> Any:
    requests = config.seats + config.max_num_requests
    if shape.drafter == "pages":
        return HistoryManager(PageDrafter.window, requests, limit, device)
    if shape.drafter == "context" and variant.layout in ("managed", "mla"):
        heads, factor = (1, 1) if variant.layout == "mla" else (2, 2)
        return DraftManager(heads, factor, requests, limit, device, -1 if variant.backend == "python" else 0)
    return None
