"""I-SCRATCH: rows that padding can reach are apart from rows that requests own. Kind K02."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Buffer, Pool, Violation

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
    yield from view.now.findings


def _dummy(view: View, pool: Pool) -> Iterator[Violation]:
    seats = _seats(view, pool)
    if pool.dummy is not None and pool.dummy in seats:
        yield view.broken(
            "I-SCRATCH", "dummy-is-a-seat",
            f"the dummy of pool {pool.name} is row {pool.dummy}, a seat that a request may get",
            expected=f"a row outside {seats[0]}..{seats[-1]}", seen=pool.dummy, buffer=pool.name, row=pool.dummy,
        )  # fmt: skip


def _seats(view: View, pool: Pool) -> range:
    return range(pool.first, pool.first + view.config.seats)


def _owners(view: View, pool: Pool) -> Iterator[Violation]:
    holder: dict[int, str] = {}
    for request, row in pool.owners.items():
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
        owner = {row: request for request, row in pool.owners.items()}
        seats = [(place, row) for place, row in enumerate(item.tail) if row in _seats(view, pool)]
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
    if view.before is None:
        return
    earlier = {buffer.name: buffer for buffer in view.before.buffers}
    earlier_owners = {pool.name: pool.owners for pool in view.before.pools}
    for buffer in view.now.buffers:
        pool, old = view.pool(buffer.space), earlier.get(buffer.name)
        if pool is None or old is None or not buffer.owned or len(old.digests) != len(buffer.digests):
            continue
        for request, row in pool.owners.items():
            kept = earlier_owners.get(pool.name, {}).get(request) == row and request not in view.now.batch
            if kept and _differs(old, buffer, row):
                yield view.broken(
                    "I-SCRATCH", "absent-changed",
                    f"row {row} of {buffer.name} belongs to {request}, which was not in the batch, and changed",
                    expected="the same bits", seen="other bits", buffer=buffer.name, row=row, request=request,
                )  # fmt: skip


def _differs(old: Buffer, new: Buffer, row: int) -> bool:
    return row < len(new.digests) and old.digests[row] != new.digests[row]
