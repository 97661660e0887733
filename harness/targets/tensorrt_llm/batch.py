"""A request as the stand-in engine knows it, and the rows of one forward as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from harness.targets.common.toy import JUNK_KEY, hidden_states, key_of, next_token, one_hot
from harness.trace import RequestState

__all__ = ["LiveRequest", "Rows"]


@dataclass
class LiveRequest:
    """A running request. `position` tokens are committed; `inputs` are its anchor and the drafts after it.

    context_lost  the worker gave its slot away, or skipped part of its text: its drafts depend on more than
                  its own text from here on.
    """

    name: str
    number: int
    prompt: list[int]
    key: int
    position: int = 0
    inputs: list[int] = field(default_factory=list)
    context_lost: bool = False
    emitted: list[int] = field(default_factory=list)
    accepted: int = 0

    @classmethod
    def start(cls, name: str, number: int, length: int, seed: int) -> LiveRequest:
        """Return a request with its own prompt of `length` tokens."""
        key = key_of(name, seed)
        tokens = [key]
        while len(tokens) < length:
            tokens.append(next_token(tokens[-1], key, len(tokens) - 1))
        return cls(name, number, tokens, key)

    def begin_operation(self) -> None:
        """Forget what the last operation added."""
        self.emitted, self.accepted = [], 0

    def take(self, tokens: Sequence[int], following: Sequence[int], consumed: int) -> None:
        """Note what a forward gave: the new tokens, the next inputs, and by how many tokens it moved on."""
        self.emitted += tokens
        self.accepted += len(tokens) - 1
        self.position += consumed
        self.inputs = list(following)

    def state(self) -> RequestState:
        """Return what a snapshot shows of it."""
        drafts = tuple(self.inputs[1:])
        return RequestState(
            self.position, tuple(self.emitted), self.accepted, drafts if any(drafts) else (),
            context_lost=self.context_lost,
        )  # fmt: skip

    def agreed(self) -> int:
        """Return how many of its inputs the target will accept: the anchor and the right drafts."""
        count = 1
        for token, following in zip(self.inputs, self.inputs[1:], strict=False):
            if next_token(token, self.key, self.position + count - 1) != following:
                break
            count += 1
        return count


@dataclass
class Rows:
    """The tokens of a forward: contexts first, then generations, then padding.

    tokens, positions, keys   one a token; targets: what the target says, one a context and one a token of a
                              generation; drafts: those being verified; lengths: tokens of each request.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    drafts: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def add_context(self, request: LiveRequest, start: int, count: int) -> None:
        """Add a chunk of a prompt."""
        chunk = request.prompt[start : start + count]
        self._add(chunk, range(start, start + count), [request.key] * count)
        self.targets.append(next_token(chunk[-1], request.key, start + count - 1))

    def add_generations(self, requests: Iterable[LiveRequest], draft_len: int) -> None:
        """Add the anchor and `draft_len` drafts of each. States behind the first wrong draft are junk."""
        for request in requests:
            inputs = (request.inputs + [0] * draft_len)[: draft_len + 1]
            positions = range(request.position, request.position + len(inputs))
            agreed = request.agreed()
            self._add(inputs, positions, [request.key if i < agreed else JUNK_KEY for i in range(len(inputs))])
            self.targets += [next_token(t, request.key, p) for t, p in zip(inputs, positions, strict=True)]
            self.drafts += inputs[1:]

    def add_padding(self, count: int, draft_len: int) -> None:
        """Add `count` rows of padding: leftovers, as a real engine has there."""
        for _ in range(count):
            self._add([0] * (draft_len + 1), range(draft_len + 1), [JUNK_KEY] * (draft_len + 1))
            self.targets += [0] * (draft_len + 1)
            self.drafts += [0] * draft_len

    def _add(self, tokens: Sequence[int], positions: Iterable[int], keys: Sequence[int]) -> None:
        self.tokens += tokens
        self.positions += positions
        self.keys += keys
        self.lengths.append(len(tokens))

    def states(self) -> torch.Tensor:
        """Return the captured states [tokens, HIDDEN]."""
        return hidden_states(self.keys, self.positions)

    def logits(self) -> torch.Tensor:
        """Return the target's logits: a row a target."""
        return one_hot(torch.tensor(self.targets, dtype=torch.long))
