"""The models of an engine, built once a process for each set of sizes: they hold weights and no state."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch

from harness.engine.draft_models import DFlashModel, DraftModel, DSparkModel
from harness.engine.layers import Rope
from harness.engine.shape import ModelShape
from harness.engine.target_model import TargetModel
from harness.engine.weights import make_weights
from harness.scenario import Config

__all__ = ["Models", "load_models"]


class Models(NamedTuple):
    """Target and draft; `like` is an empty tensor of their dtype and device."""

    target: TargetModel
    draft: DraftModel
    like: torch.Tensor


def load_models(config: Config, shape: ModelShape, dtype: torch.dtype, device: str) -> Models:
    """Return the models for `config`: the same seed gives the same weights everywhere."""
    needed = config.max_seq_len + config.draft_len + 1
    length = -(-needed // _TABLE_STEP) * _TABLE_STEP
    return _load(config.worker, config.seed, config.draft_len, length, shape, dtype, device)


_TABLE_STEP = 128  # positions; tables of a common length serve configurations that differ in theirs


@lru_cache(maxsize=8)
def _load(
    worker: str, seed: int, draft_len: int, length: int, shape: ModelShape, dtype: torch.dtype, device: str
) -> Models:
    weights = make_weights(shape, worker, seed, dtype, device)
    rope = Rope(shape, length, dtype, device)
    target = TargetModel(shape, weights, rope, length)
    model = {"dflash": DFlashModel, "dspark": DSparkModel}[worker]
    return Models(target, model(shape, weights, rope, target, draft_len), weights["target.norm"].new_empty(0))
