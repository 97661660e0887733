"""The models of an engine, built once a process for each set of weights: they hold these and no state."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import torch

from harness.engine.draft_models import DFlashModel, DraftModel, DSparkModel
from harness.engine.layers import Rope
from harness.engine.shape import ModelShape
from harness.engine.target_model import TargetModel
from harness.engine.text import make_motif, make_text
from harness.engine.trained import TRAINED_SHAPE, trained_weights
from harness.engine.weights import hashed_ids, make_weights
from harness.scenario import Config

__all__ = ["Models", "default_shape", "load_models", "make_prompt"]


class Models(NamedTuple):
    """Target and draft; `like` is an empty tensor of their dtype and device."""

    target: TargetModel
    draft: DraftModel
    like: torch.Tensor


def default_shape(config: Config) -> ModelShape:
    """Return the sizes of the models that `config` opens: those of its trained weights, or small ones."""
    return TRAINED_SHAPE if config.weights else ModelShape()


def make_prompt(config: Config, shape: ModelShape, name: str, count: int) -> list[int]:
    """Return the `count` tokens that a request comes with: any ones, or held-out text for trained weights."""
    if config.weights:
        return make_text(make_motif(name, config.seed, held_out=True), count)
    return hashed_ids(name, count, shape.mask_token, config.seed)


def load_models(config: Config, shape: ModelShape, dtype: torch.dtype, device: str) -> Models:
    """Return the models for `config`: the same seed gives the same weights everywhere."""
    needed = config.max_seq_len + config.draft_len + 1
    length = -(-needed // _TABLE_STEP) * _TABLE_STEP
    trained = bool(config.weights)
    return _load(config.worker, config.seed, trained, config.draft_len, length, shape, dtype, device)


_TABLE_STEP = 128  # positions; tables of a common length serve configurations that differ in theirs


@lru_cache(maxsize=8)
def _load(
    worker: str, seed: int, trained: bool, draft_len: int, length: int, shape: ModelShape, dtype: torch.dtype,
    device: str,
) -> Models:  # fmt: skip
    make = trained_weights if trained else partial(make_weights, shape)
    weights = make(worker, seed, dtype, device)
    rope = Rope(shape, length, dtype, device)
    target = TargetModel(shape, weights, rope, length)
    model = {"dflash": DFlashModel, "dspark": DSparkModel}[worker]
    return Models(target, model(shape, weights, rope, target, draft_len), weights["target.norm"].new_empty(0))
