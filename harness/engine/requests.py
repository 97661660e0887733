"""A request, what a step leaves of it for the next one, and what the last operation ran."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from harness.trace import MetadataField, RequestState

__all__ = ["Forward", "Left", "Relay", "Request"]


@dataclass(frozen=True)
class Left:
    """What a step leaves for a request's next one: drafts, and how sure each is, where a worker says.

    `generation` is that of the seat whose request they were made for.
    """

    generation: int
    drafts: tuple[int, ...]
    confidence: tuple[float, ...] = ()


class Relay:
    """Carries what a step left to the next one, by seat. A seat's old entry stays until it is overwritten."""

    def __init__(self) -> None:
        self._left: dict[int, Left] = {}

    def put(self, key: int, left: Left) -> None:
        """Leave something for the seat's next step."""
        self._left[key] = left

    def get(self, key: int) -> Left | None:
        """Return what was left for that seat, whoever sat there then."""
        return self._left.get(key)


@dataclass
class Request:
    """A request. `tokens` are prompt and output; the last one is the anchor, not consumed yet.

    seat, generation  where it sits, and the how-many-eth to sit there; they mean nothing while it is preempted.
    seen_from   first context token whose state the drafter is given: behind a prefix hit or a hand-over.
    chunks      lengths still to prefill, `done` tokens being consumed; there is no anchor before the last one.
    left        what its next step verifies, kept while it is preempted; `drafted` the distributions of those
                drafts [K,V], under sampling.
    """

    name: str
    tokens: list[int]
    prompt_len: int
    seen_from: int = 0
    chunks: list[int] = field(default_factory=list)
    done: int = 0
    seat: int = 0
    generation: int = 0
    left: Left | None = None
    drafted: torch.Tensor | None = None

    @property
    def position(self) -> int:
        """How many tokens the target has consumed: the anchor's position, once there is one."""
        return self.done if self.chunks else len(self.tokens) - 1

    def verified(self, drafts: list[int], width: int) -> list[int]:
        """Return `width` tokens: the anchor, the drafts, and zeros where there are none."""
        return [self.tokens[-1], *drafts, *[0] * (width - 1 - len(drafts))]


@dataclass(frozen=True)
class Forward:
    """What the last operation ran: its rows in order, their number with padding, the graph replayed.

    `reserved` is what was set aside for it and `consumed` what it used; `fields` what a step was told.
    """

    batch: tuple[str, ...] = ()
    padded: int = 0
    graph: int | None = None
    requests: dict[str, RequestState] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    consumed: dict[str, int] = field(default_factory=dict)
    fields: tuple[MetadataField, ...] = ()
