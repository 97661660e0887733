"""I-CONSERVE: every row of a pool is free, held by a live request, or retiring; exactly one of them. Kind K05."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Step
from harness.trace import Pool, Violation

__all__ = ["rows_are_conserved"]


def rows_are_conserved(view: View) -> Iterator[Violation]:
    """No row is lost, in two places at once, or held by a request that is not live."""
    for pool in view.now.pools:
        if pool is view.before_pool(pool.name) and isinstance(view.operation, Step):
            continue  # the very record of the last snapshot, and a step ends nobody
        yield from _partition(view, pool)
        for request, rows in pool.holders().items():
            if rows and request not in view.live:
                row = rows[0]
                yield view.broken(
                    "I-CONSERVE", "leak", f"{request} holds row {row} of pool {pool.name} and is no live request",
                    expected="live requests alone hold rows", seen=request, buffer=pool.name, row=row,
                    request=request,
                )  # fmt: skip


def _partition(view: View, pool: Pool) -> Iterator[Violation]:
    # Two owners of one row are I-SCRATCH's; here they count once.
    held = {row for rows in pool.holders().values() for row in rows}
    places = Counter([*pool.free, *pool.retiring, *held])
    for row, count in places.items():
        if count > 1:
            yield view.broken(
                "I-CONSERVE", "twice", f"row {row} of pool {pool.name} is in {count} places at once",
                expected="one", seen=count, buffer=pool.name, row=row,
            )  # fmt: skip
    lost = sorted(set(range(pool.first, pool.first + pool.capacity)) - places.keys())
    if lost:
        yield view.broken(
            "I-CONSERVE", "lost", f"row {lost[0]} of pool {pool.name} is neither free nor held nor retiring",
            expected=f"{pool.capacity} rows accounted for", seen=pool.capacity - len(lost), buffer=pool.name,
            row=lost[0],
        )  # fmt: skip
