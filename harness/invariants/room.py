"""I-ROOM: what admission let in finds a row. Kind K04."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import EventKind, Violation

__all__ = ["pools_have_room", "refusals_that_raised"]


def pools_have_room(view: View) -> Iterator[Violation]:
    """Whoever may come next finds a row: those of requests that are ending are not free yet.

    Judged where a configuration has `overlap`, and with it requests that keep a row while they end.
    """
    if not view.config.overlap:
        return
    may_come = view.config.running_limit - len(view.live)
    for pool in view.now.pools:
        if pool.unit == "seat" and len(pool.free) < may_come:
            yield view.broken(
                "I-ROOM", "head-room",
                f"{may_come} more requests may come and pool {pool.name} has {len(pool.free)} rows free, "
                f"{len(pool.retiring)} retiring",
                expected=f"at least {may_come} free", seen=len(pool.free), buffer=pool.name,
            )  # fmt: skip


def refusals_that_raised(view: View) -> Iterator[Violation]:
    """An operation raised and a pool refused a row in it: the scenario is legal, so the pool is too small.

    Judged of what an operation that raised left behind. A refusal that nothing was said of is I-LOUD's.
    """
    for event in view.now.events:
        pool = view.pool(event.pool)
        # A request may need several pages at once, so some may be free.
        if event.kind is EventKind.REFUSE and pool is not None and (pool.unit == "page" or not pool.free):
            held = f"{len(pool.taken())} of {pool.capacity} rows are held, {len(pool.retiring)} of them retiring"
            yield view.broken(
                "I-ROOM", "refused", f"pool {pool.name} refused {event.request} a row: {held}",
                expected="a row for every request that was admitted", seen="none free", buffer=pool.name,
                request=event.request,
            )  # fmt: skip
