"""I-GEN: a result is applied to the request that it was made for, and to no later owner of its seat. Kind K12."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import EventKind, Pool, Violation

__all__ = ["results_meet_their_owner"]


def results_meet_their_owner(view: View) -> Iterator[Violation]:
    """Results are of live requests and of the present generation of their seat; a row given anew counts anew."""
    counted = [pool for pool in view.now.pools if pool.generations]
    for request, state in view.now.requests.items():
        if request not in view.live:
            yield view.broken(
                "I-GEN", "late", f"a result was applied to {request}, which is no live request",
                expected="live requests alone", seen=request, request=request,
            )  # fmt: skip
        pool = next((pool for pool in counted if request in pool.owners), None)
        if state.generation is None or pool is None:
            continue
        row = pool.owners[request]
        if row < len(pool.generations) and pool.generations[row] != state.generation:
            yield view.broken(
                "I-GEN", "generation",
                f"{request} was given what row {row} of {pool.name} held at generation {state.generation}",
                expected=f"generation {pool.generations[row]}", seen=f"generation {state.generation}",
                buffer=pool.name, row=row, request=request,
            )  # fmt: skip
    for pool in counted:
        yield from _given(view, pool)


def _given(view: View, pool: Pool) -> Iterator[Violation]:
    before = view.before_pool(pool.name)
    for event in view.now.events:
        if event.kind is not EventKind.ACQUIRE or event.pool != pool.name or event.row is None or before is None:
            continue
        old, new = before.generations[event.row : event.row + 1], pool.generations[event.row : event.row + 1]
        if old and old == new:
            yield view.broken(
                "I-GEN", "uncounted", f"row {event.row} of {pool.name} was given to {event.request}, uncounted",
                expected=f"generation {old[0] + 1}", seen=f"generation {new[0]}", buffer=pool.name, row=event.row,
                request=event.request,
            )  # fmt: skip
