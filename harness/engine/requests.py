"""A running request, and what the last operation ran."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.trace import RequestState

__all__ = ["Forward", "Request"]


@dataclass
class Request:
    """A running request. `tokens` are prompt and output; the last one is the anchor, not consumed yet."""

    name: str
    seat: int
    tokens: list[int]
    prompt_len: int
    drafts: list[int] = field(default_factory=list)

    @property
    def position(self) -> int:
        """The anchor's position: how many tokens the target has consumed."""
        return len(self.tokens) - 1

    def verified(self, draft_len: int, width: int) -> list[int]:
        """Return `width` tokens: the anchor, the first `draft_len` drafts, and zeros where there are none."""
        drafts = self.drafts[:draft_len]
        return [self.tokens[-1], *drafts, *[0] * (width - 1 - len(drafts))]


@dataclass(frozen=True)
class Forward:
    """What the last operation ran: its rows in order, their number with padding, the graph replayed."""

    batch: tuple[str, ...] = ()
    padded: int = 0
    graph: int | None = None
    requests: dict[str, RequestState] = field(default_factory=dict)
