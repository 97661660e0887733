"""Who the request pool refused a row, and for which owner of its row the relay holds what a step takes from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.targets.common.session import POOL
from harness.trace import Event, EventKind

__all__ = ["Rows"]


class Rows:
    """Listens to the request pool, which counts how often it gave each row; the relay's rows are not counted.

    refusals  requests that the pool had no row for in the present operation, as events.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.refusals: list[Event] = []
        self._published: dict[int, int] = {}
        self._hear_of_refusals()

    def refused(self, name: str) -> bool:
        """Say whether the pool had no row for a request in the present operation."""
        return any(event.request == name for event in self.refusals)

    def published(self, rows: Iterable[int]) -> None:
        """Note that a step left something in the relay for whoever owns these rows now."""
        self._published.update((row, self._generation(row)) for row in rows)

    def made_for(self, row: int) -> int:
        """Return the generation of the row for which the relay's was left; 0, nobody's, where nothing was."""
        return self._published.get(row, 0)

    def _generation(self, row: int) -> int:
        return int(self._pool.req_generation[row])

    def _hear_of_refusals(self) -> None:
        give = self._pool.alloc

        def given(requests: list[Any]) -> Any:
            rows = give(requests)
            if rows is None:
                self.refusals += [Event(EventKind.REFUSE, POOL, request.rid) for request in requests]
            return rows

        self._pool.alloc = given
