"""Engines for tests: small configurations, drafters that are not models, and the plain models beside them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from naive_models import Naive

from harness.engine import Engine, ModelShape, Parts
from harness.engine.parts import Revise
from harness.engine.weights import hashed_ids, make_weights
from harness.host.graph_tape import tape_capture
from harness.scenario import Config

torch.set_num_threads(1)  # several times faster on tiny tensors; hosts compute with one too
PROMPT = 4
SHAPE = ModelShape(target_layers=3, taps=(0, 1), draft_layers=2, kv_heads=1)


def config_of(worker: str, seats: int = 5, rows: int | None = None, **others: Any) -> Config:
    return Config(worker, seats, rows or seats, (1, 2, 4), **others)


def open_engine(config: Config, parts: Parts | None = None, shape: ModelShape = SHAPE) -> Engine:
    torch.set_grad_enabled(False)
    return Engine(config, parts or Parts(), tape_capture, shape=shape)


@lru_cache(maxsize=8)
def naive_of(worker: str, shape: ModelShape = SHAPE, recurrent: bool = False) -> Naive:
    return Naive(shape, make_weights(shape, worker, 0, torch.float64, "cpu"), recurrent)


@lru_cache(maxsize=256)
def greedy_of(request: str, prompt_len: int = PROMPT, count: int = 28, recurrent: bool = False) -> tuple[int, ...]:
    """Return prompt and plain greedy continuation; the target's weights do not depend on the worker."""
    prompt = hashed_ids(request, prompt_len, SHAPE.mask_token, 0)
    return tuple(naive_of("dflash", SHAPE, recurrent).greedy(prompt, count))


def _right(request: str, position: int, count: int) -> list[int]:
    return [*greedy_of(request)[position + 1 : position + 1 + count]]


def _wrong(request: str, position: int, count: int) -> list[int]:
    return [(token + 1) % SHAPE.vocab for token in _right(request, position, count)]


def oracle(request: str, position: int, drafts: list[int]) -> list[int]:
    """Draft what the target will say."""
    return _right(request, position, len(drafts))


def never_right(request: str, position: int, drafts: list[int]) -> list[int]:
    return _wrong(request, position, len(drafts))


def random_tokens(request: str, position: int, drafts: list[int]) -> list[int]:
    return hashed_ids(f"{request} at {position}", len(drafts), SHAPE.vocab, 1)


def right_by_turns(request: str, position: int, drafts: list[int]) -> list[int]:
    """Right for 0, 1, ... K tokens in turn, wrong from there on: every accepted count occurs."""
    count = len(drafts)
    (right,) = hashed_ids(f"{request} at {position}", 1, count + 1, 2)
    return _right(request, position, count)[:right] + _wrong(request, position, count)[right:]


def own_drafts(request: str, position: int, drafts: list[int]) -> list[int]:
    """Keep what the worker drafted."""
    del request, position
    return drafts


DRAFTERS: dict[str, Revise] = {
    "own": own_drafts,
    "random": random_tokens,
    "oracle": oracle,
    "never right": never_right,
    "right by turns": right_by_turns,
}


def capture_all(engine: Engine) -> None:
    for bucket in engine.config.buckets:
        engine.capture(bucket)
