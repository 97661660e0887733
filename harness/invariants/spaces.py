"""I-SPACE: an index is used in the space that it is of. Kind K07."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Step
from harness.trace import Buffer, Pool, Violation

__all__ = ["writes_land_in_own_rows"]


def writes_land_in_own_rows(view: View) -> Iterator[Violation]:
    """A step that writes a buffer writes the rows of all its requests, and none behind the pool.

    A write by batch row, or by an index of another pool, leaves the row that it was meant for as it was. So does a
    step at a smaller draft length that verifies what was written and taken back before: it shows nothing.
    """
    yield from view.findings("I-SPACE")
    if not isinstance(view.operation, Step):
        return
    for old, buffer in view.changed:
        pool = view.pool(buffer.space)
        if pool is not None and pool.unit == "seat" and buffer.data and old is not None:
            yield from _missed(view, pool, old, buffer)


def _missed(view: View, pool: Pool, old: Buffer, new: Buffer) -> Iterator[Violation]:
    before = view.before_pool(pool.name)
    owned = before.owners if before else {}
    rows = {
        request: row
        for request in view.now.batch
        if (row := pool.owners.get(request)) is not None
        and owned.get(request) == row
        and row < min(len(old.digests), len(new.digests))
    }
    left = [request for request, row in rows.items() if old.digests[row] == new.digests[row]]
    missed = [request for request in left if request not in view.again]
    if missed and len(left) < len(rows):
        request = missed[0]
        yield view.broken(
            "I-SPACE", "missed",
            f"the step wrote {new.name} for others of its batch, not for {request} in row {rows[request]}",
            expected="all rows of the batch written", seen=f"all but {', '.join(missed)}", buffer=new.name,
            row=rows[request], request=request,
        )  # fmt: skip
