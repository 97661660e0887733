"""A request as the stand-in scheduler knows it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

from harness.targets.common.toy import key_of, prompt_of
from harness.trace import RequestState

__all__ = ["Request"]


@dataclass(eq=False)
class Request:
    """A live request beside the engine's own object for it, `req`, which holds its row and lengths.

    position   tokens committed by now.
    tokens     its prompt and what it has emitted; the last one is its anchor.
    drafts, emitted, accepted, drafted_at  of the last step, and the position that it started from.
    context    tokens of context that the relay told the last step; generation: the one of its row for which the
               relay was told.
    """

    name: str
    key: int
    tokens: list[int]
    req: Any
    position: int = 0
    drafts: tuple[int, ...] = ()
    emitted: tuple[int, ...] = ()
    accepted: int = 0
    drafted_at: int = 0
    context: int | None = None
    generation: int | None = None
    confidence: tuple[float, ...] = ()

    @classmethod
    def start(cls, name: str, length: int, seed: int, tree: Any) -> Request:
        """Return a greedy request with its own prompt of `length` tokens, made by the engine's constructors."""
        key = key_of(name, seed)
        tokens = prompt_of(key, length)
        greedy = tree.params.SamplingParams(temperature=0.0, max_new_tokens=1 << 20)
        return cls(name, key, tokens, tree.batch.Req(name, "", array("q", tokens), greedy))

    @property
    def kv(self) -> Any:
        """The engine's record of its row and lengths."""
        return self.req.kv

    @property
    def row(self) -> int:
        """Its row of the request pool."""
        return int(self.kv.req_pool_idx)

    def state(self) -> RequestState:
        """Return what a snapshot shows of its last step.

        The engine drafts at the start of a step: drafts and context are those of the position it started from.
        """
        return RequestState(
            self.drafted_at, self.emitted, self.accepted, self.drafts, self.confidence,
            context=self.context, generation=self.generation,
        )  # fmt: skip
