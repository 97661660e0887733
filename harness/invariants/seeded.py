"""I-SEEDED: what a draft reads was written for the request that reads it. Kind K08."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Step
from harness.trace import Violation

__all__ = ["reads_own_context"]


def reads_own_context(view: View) -> Iterator[Violation]:
    """In a step every batch row points at the row its request owns, and no draft attends to unwritten context."""
    if isinstance(view.operation, Step):
        yield from _rows(view)
    for request, state in view.now.requests.items():
        written = view.written.get(request)
        if state.visible is not None and written is not None and state.visible > written:
            yield view.broken(
                "I-SEEDED", "unwritten",
                f"the draft of {request} attends to {state.visible} context tokens; {written} were ever written",
                expected=f"at most {written}", seen=state.visible, request=request,
            )  # fmt: skip


def _rows(view: View) -> Iterator[Violation]:
    for item in view.now.graph_inputs:
        pool = view.pool(item.pool)
        if pool is None or len(item.live) != len(view.now.batch):
            continue
        holder = {row: request for request, row in pool.owners.items()}
        for place, (request, row) in enumerate(zip(view.now.batch, item.live, strict=True)):
            own = pool.owners.get(request)
            if own is None and request in view.now.requests and view.now.requests[request].context_lost:
                continue  # declared: it was absent from a batch, and that costs it its row
            if row != own:
                expected = "no row" if own is None else own
                whose = "the dummy's" if row == pool.dummy else f"{holder[row]}'s" if row in holder else "nobody's"
                yield view.broken(
                    "I-SEEDED", "not-its-row",
                    f"batch row {place} is {request} and points at row {row}, {whose}; "
                    f"{request} owns {'none' if own is None else f'row {own}'}",
                    expected=expected, seen=row, buffer=item.name, row=row, request=request,
                )  # fmt: skip
