"""Decisions about positions: where a context begins, how far it is, what a chunk or a resumption computes."""

from __future__ import annotations

import torch

from harness.engine.requests import Request

Tensor = torch.Tensor


def after_prefix(cached: int) -> tuple[int, int]:
    """Length and first seen position of a context that begins with a prefix hit of `cached` tokens."""
    return cached, cached


def handed_over(position: int) -> tuple[int, int]:
    """Length and first seen position of a context of `position` tokens that was computed elsewhere."""
    return position, position


def advance(length: Tensor, count: Tensor) -> Tensor:
    """Lengths [B] of contexts after `count` [B] more tokens were committed."""
    return length + count


def empty_dummy(lengths: Tensor, dummy: int) -> None:
    """Set the dummy row's length to 0 before a step: padding appends to it in every one."""
    lengths[dummy : dummy + 1].zero_()


def ring_rows(valid: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """What a window's columns hold after a step: a rejected row's still holds an older token, which stays."""
    return torch.where(valid, new, old)


def turned_to(positions: Tensor) -> Tensor:
    """Positions [B,T] that context keys are turned to: the tokens' own, in whatever chunk or step they came."""
    return positions


def hidden_by_age(age: Tensor, held: Tensor) -> Tensor:
    """Which columns a draft must not see, by age [B,columns]: all but the newest `held` [B,1]."""
    return age >= held


def chunk_span(done: int, count: int) -> tuple[int, int]:
    """First position and length of a chunk, `done` tokens of the prompt being consumed."""
    return done, count


def restarts_context(done: int, seen_from: int) -> bool:  # noqa: ARG001  # a bug said yes behind the first chunk
    """Whether a chunk begins its request's context anew: no, the first one did when it was given a slot."""
    return False


def stores_context(count: int, width: int) -> bool:  # noqa: ARG001  # a bug compared them
    """Whether a chunk of `count` tokens is a prefill: even if it has as many tokens as a step has, `width`."""
    return True


def follows() -> bool:
    """Whether a worker that does not draft takes in what is committed, so as to know it later."""
    return True


def resume_span(request: Request) -> tuple[int, int]:
    """First position that the worker sees and end of what is computed again when `request` is resumed."""
    return request.seen_from, request.position
