"""I-POS: a worker counts exactly the committed tokens, and never past its tables, the dummy included. Kind K09."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Pool, RequestState, Violation

__all__ = ["positions_follow"]


def positions_follow(view: View) -> Iterator[Violation]:
    """The worker's context length of a request is its committed length; the dummy's does not climb.

    Padding appends to the dummy row in every step. A worker that empties it before each one shows a step's
    tokens at most, K+1; one that does not climbs until a table ends.
    """
    for request, state in view.now.requests.items():
        if state.context is not None and not state.context_lost:
            yield from _request(view, request, state.context, state)
    for pool in view.now.pools:
        yield from _dummy(view, pool)


def _request(view: View, request: str, context: int, state: RequestState) -> Iterator[Violation]:
    row = next((pool.owners[request] for pool in view.now.pools if request in pool.owners), None)
    if context > view.config.max_seq_len:
        yield view.broken(
            "I-POS", "beyond", f"the worker counts {context} context tokens for {request}: past its tables",
            expected=f"at most {view.config.max_seq_len}", seen=context, row=row, request=request,
        )  # fmt: skip
    if context != state.position:
        yield view.broken(
            "I-POS", "position",
            f"the worker counts {context} context tokens for {request}, which has committed {state.position}",
            expected=state.position, seen=context, row=row, request=request,
        )  # fmt: skip


def _dummy(view: View, pool: Pool) -> Iterator[Violation]:
    position, step = pool.dummy_position, view.config.draft_len + 1
    earlier = view.before_pool(pool.name)
    last = earlier.dummy_position if earlier else None
    if position is not None and last is not None and position > max(step, last):
        yield view.broken(
            "I-POS", "dummy-climbs",
            f"the dummy of pool {pool.name} climbs: position {position}, after {last}",
            expected=f"at most {step}, one step's tokens", seen=position, buffer=pool.name, row=pool.dummy,
        )  # fmt: skip
