"""I-SCRATCH: rows that padding can reach are apart from rows that requests own. Kind K02."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Pool, Violation

__all__ = ["dummy_apart"]


def dummy_apart(view: View) -> Iterator[Violation]:
    """The dummy is no seat, owners are apart, padding reaches no owned row, absent requests keep theirs.

    "No seat" is meant of the whole range, not of the rows live now: an idle seat will be owned later.
    """
    for pool in view.now.pools:
        yield from _dummy(view, pool)
        yield from _owners(view, pool)
    yield from _padding(view)
    yield from _absent(view)
    yield from view.findings("I-SCRATCH")


def _dummy(view: View, pool: Pool) -> Iterator[Violation]:
    seats = view.span(pool)
    if pool.dummy is not None and pool.dummy in seats:
        yield view.broken(
            "I-SCRATCH", "dummy-is-a-seat",
            f"the dummy of pool {pool.name} is row {pool.dummy}, a seat that a request may get",
            expected=f"a row outside {seats[0]}..{seats[-1]}", seen=pool.dummy, buffer=pool.name, row=pool.dummy,
        )  # fmt: skip


def _owners(view: View, pool: Pool) -> Iterator[Violation]:
    holder: dict[int, str] = {}
    if pool is view.before_pool(pool.name):
        return  # the very record of the last snapshot
    for request, row in ((request, row) for request, rows in pool.holders().items() for row in rows):
        if row == pool.dummy:
            yield view.broken(
                "I-SCRATCH", "dummy-owned", f"{request} owns row {row} of pool {pool.name}, the dummy's",
                expected="a row of its own", seen=row, buffer=pool.name, row=row, request=request,
            )  # fmt: skip
        if row in holder:
            yield view.broken(
                "I-SCRATCH", "row-shared", f"{request} and {holder[row]} both own row {row} of pool {pool.name}",
                expected="one owner a row", seen=f"{holder[row]}, {request}", buffer=pool.name, row=row,
                request=request,
            )  # fmt: skip
        holder[row] = request


def _padding(view: View) -> Iterator[Violation]:
    for item in view.now.graph_inputs:
        pool = view.pool(item.pool)
        if pool is None:
            continue
        seats = [(place, row) for place, row in enumerate(item.tail) if row in view.span(pool)]
        owner = {row: request for request, rows in pool.holders().items() for row in rows} if seats else {}
        # One a buffer, and rather one that somebody owns: the others are there for the same reason.
        for place, row in sorted(seats, key=lambda seat: seat[1] not in owner)[:1]:
            rule, whose = ("padding-aliases", f"which {owner[row]} owns") if row in owner else (
                "padding-on-seat", "a seat that a request may get"
            )  # fmt: skip
            yield view.broken(
                "I-SCRATCH", rule,
                f"padding in batch row {len(view.now.batch) + place} of {item.name} points at row {row}, {whose}",
                expected=item.sentinel, seen=row, buffer=item.name, row=row, request=owner.get(row, ""),
            )  # fmt: skip


def _absent(view: View) -> Iterator[Violation]:
    """Rows of live requests that had no part in this operation must be the same, bit for bit."""
    kept = {pool.name: _kept(view, pool) for pool in view.now.pools}
    for old, buffer in view.changed:
        if old is None or len(old.digests) != len(buffer.digests):
            continue
        for request, row in kept.get(buffer.space, ()):
            if row < len(buffer.digests) and old.digests[row] != buffer.digests[row]:
                yield view.broken(
                    "I-SCRATCH", "absent-changed",
                    f"row {row} of {buffer.name} belongs to {request}, which was not in the batch, and changed",
                    expected="the same bits", seen="other bits", buffer=buffer.name, row=row, request=request,
                )  # fmt: skip


def _kept(view: View, pool: Pool) -> list[tuple[str, int]]:
    """Return the rows of requests that had no part in this operation and hold them since before it."""
    before = view.before_pool(pool.name)
    absent = [request for request in {**pool.owners, **pool.holdings} if request not in view.now.batch]
    if before is None or not absent:
        return []
    rows, held = pool.holders(), before.holders()
    return [(request, row) for request in absent for row in rows[request] if row in held.get(request, ())]
