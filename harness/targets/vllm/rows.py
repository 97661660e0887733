"""Who is given a row of the request states, who is refused one, and whose results a row was given.

vLLM names a row's owner by the request's id alone. How often a row was given it counts between the ranks of a
pipeline only, where results come late; on one rank the same count is kept here, at the engine's own calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from harness.targets.common.session import POOL
from harness.trace import Event, EventKind

__all__ = ["Rows"]

_IN_FLIGHT = 2  # batches whose results may still be to come, as with asynchronous scheduling


class Rows:
    """Listens to a model runner. `given` counts how often each row was given to a request.

    acquired  is told of every row that a request gets, before anything is computed for it.
    refusals  requests that found no row in the present operation, as events.
    """

    def __init__(self, runner: Any, acquired: Callable[[str, int], None]) -> None:
        self._states = runner.req_states
        self._acquired = acquired
        self.given = [0] * self._states.max_num_reqs
        self.refusals: list[Event] = []
        self._results: dict[int, int] = {}
        self._batches: deque[tuple[Any, dict[int, int]]] = deque(maxlen=_IN_FLIGHT)
        self._hear_of_requests()
        self._hear_of_results(runner)

    def made_for(self, row: int) -> int:
        """Return the earliest generation whose results a row was given since it was given to its owner."""
        return self._results.get(row, self.given[row])

    def refused(self, name: str) -> bool:
        """Say whether a request found no row in the present operation."""
        return any(event.request == name for event in self.refusals)

    def _hear_of_requests(self) -> None:
        states, add = self._states, self._states.add_request

        def added(*args: Any, **options: Any) -> None:
            name = options["req_id"]
            full = not states.free_indices
            if full:
                self._refuse(name)
            try:
                add(*args, **options)
            except AssertionError:
                if not full:
                    self._refuse(name)
                raise
            row = states.req_id_to_index[name]
            self.given[row] += 1
            self._results.pop(row, None)
            self._acquired(POOL, row)

        states.add_request = added

    def _refuse(self, name: str) -> None:
        self.refusals.append(Event(EventKind.REFUSE, POOL, name))

    def _hear_of_results(self, runner: Any) -> None:
        prepare, apply = runner.prepare_inputs, runner.postprocess_sampled

        def prepared(*args: Any, **options: Any) -> Any:
            batch = prepare(*args, **options)
            rows = {row: self.given[row] for row in batch.idx_mapping_np.tolist()}
            self._batches.append((batch.idx_mapping, rows))
            return batch

        def applied(idx_mapping: Any, *args: Any, **options: Any) -> None:
            apply(idx_mapping, *args, **options)
            # A batch is known by its tensor of rows, which is made for it and goes wherever its results go.
            for rows in [rows for of, rows in self._batches if of is idx_mapping]:
                for row, generation in rows.items():
                    self._results[row] = min(generation, self.made_for(row))

        runner.prepare_inputs, runner.postprocess_sampled = prepared, applied
