"""I-REPR: the form of an index holds every index, and nothing legal looks like "none". Kind K16."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import EventKind, Pool, Violation

__all__ = ["indices_are_representable", "rows_that_were_refused"]


def indices_are_representable(view: View) -> Iterator[Violation]:
    """Row times stride and every row fit their integers, no sentinel is a legal row, and a held row stays held."""
    for _, buffer in view.changed:
        reach = max(buffer.rows - 1, 0) * buffer.stride
        if reach >= 1 << (buffer.index_bits - 1):
            yield view.broken(
                "I-REPR", "overflow",
                f"the last row of {buffer.name} begins at element {reach}, past {buffer.index_bits} bits",
                expected=f"below 2^{buffer.index_bits - 1}", seen=reach, buffer=buffer.name,
            )  # fmt: skip
    yield from _graph_inputs(view)
    for pool in view.now.pools:
        yield from _moved(view, pool)


def _graph_inputs(view: View) -> Iterator[Violation]:
    for item in view.now.graph_inputs:
        pool = view.pool(item.pool)
        if pool is None:
            continue
        span = view.span(pool)
        if item.sentinel in span:
            yield view.broken(
                "I-REPR", "sentinel", f"{item.name} says none with {item.sentinel}, a row that a request may get",
                expected=f"a value outside {span[0]}..{span[-1]}", seen=item.sentinel, buffer=item.name,
                row=item.sentinel,
            )  # fmt: skip
        if max(span[-1], item.sentinel) >= 1 << (item.bits - 1):
            yield view.broken(
                "I-REPR", "narrow", f"{item.name} has {item.bits} bits for rows up to {span[-1]}",
                expected=f"below 2^{item.bits - 1}", seen=span[-1], buffer=item.name,
            )  # fmt: skip


def _moved(view: View, pool: Pool) -> Iterator[Violation]:
    """Yield requests that hold another row than before though nobody took theirs: "no row yet", of row 0."""
    before = view.before_pool(pool.name)
    for request, row in pool.owners.items():
        held = before.owners.get(request) if before else None
        if held is not None and held != row and not _released(view, pool, request):
            yield view.broken(
                "I-REPR", "moved", f"{request} held row {held} of {pool.name} and was given row {row} beside it",
                expected=held, seen=row, buffer=pool.name, row=row, request=request,
            )  # fmt: skip


def _released(view: View, pool: Pool, request: str) -> bool:
    return any(
        event.kind is EventKind.RELEASE and event.pool == pool.name and event.request == request
        for event in view.now.events
    )


def rows_that_were_refused(view: View) -> Iterator[Violation]:
    """A pool refused a row while it had one: judged of what an operation that raised left behind."""
    for event in view.now.events:
        pool = view.pool(event.pool)
        if event.kind is EventKind.REFUSE and pool is not None and pool.unit == "seat" and pool.free:
            yield view.broken(
                "I-REPR", "refused", f"pool {pool.name} refused {event.request} a row and has {pool.free[0]} free",
                expected="the free row", seen="a refusal", buffer=pool.name, row=pool.free[0],
                request=event.request,
            )  # fmt: skip
