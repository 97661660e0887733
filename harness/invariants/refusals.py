"""I-LOUD: a refused row is never passed over in silence. Kind K15."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Step
from harness.trace import EventKind, Violation

__all__ = ["refusals_are_loud"]


def refusals_are_loud(view: View) -> Iterator[Violation]:
    """An operation in which a pool refused a live request a row raises, or the request has one in the end.

    So does a step whose graph was replayed before and is not now: padding was not to be had, and nobody says so.
    A snapshot is taken only of an operation that did not raise, so a refusal seen here was swallowed.
    """
    for event in view.now.events:
        pool = view.pool(event.pool)
        if event.kind is not EventKind.REFUSE or pool is None or event.request not in view.live:
            continue
        if event.request not in pool.owners:
            yield view.broken(
                "I-LOUD", "swallowed",
                f"pool {pool.name} refused {event.request} a row, which runs on without one; nothing said so",
                expected="an error, or a row", seen="neither", buffer=pool.name, request=event.request,
            )  # fmt: skip
    yield from _eager(view)


def _eager(view: View) -> Iterator[Violation]:
    if not isinstance(view.operation, Step) or view.operation.graph is False or view.now.graph is not None:
        return
    fitting = min((bucket for bucket in view.buckets if bucket >= len(view.now.batch)), default=None)
    if fitting is not None:
        yield view.broken(
            "I-LOUD", "eager",
            f"{len(view.now.batch)} requests ran eagerly; they fit the graph of bucket {fitting}, replayed before",
            expected=f"the graph of bucket {fitting}", seen="no graph", buffer="graphs",
        )  # fmt: skip
