"""A request as the stand-in scheduler knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.targets.common.toy import key_of, prompt_of
from harness.trace import RequestState

__all__ = ["Request"]


@dataclass(eq=False)
class Request:
    """A live request. Its row and lengths are in the engine's own request states.

    position   tokens committed by now.
    tokens     its prompt and what it has emitted; the last one is its anchor.
    blocks     the cache blocks that it holds, in the order of its context.
    drafts, emitted, accepted, context  of the last step; the last is the drafter's own count of context tokens.
    generation  the earliest of its row whose results the row was given since the request has it.
    """

    name: str
    key: int
    tokens: list[int]
    prompt_len: int
    position: int = 0
    blocks: list[Any] = field(default_factory=list)
    drafts: tuple[int, ...] = ()
    emitted: tuple[int, ...] = ()
    accepted: int = 0
    context: int | None = None
    generation: int | None = None

    @classmethod
    def start(cls, name: str, length: int, seed: int) -> Request:
        """Return a request with its own prompt of `length` tokens."""
        key = key_of(name, seed)
        return cls(name, key, prompt_of(key, length), length)

    def state(self) -> RequestState:
        """Return what a snapshot shows of its last step."""
        return RequestState(
            self.position,
            self.emitted,
            self.accepted,
            self.drafts,
            context=self.context,
            generation=self.generation,
        )
