"""What a run was asked to do so far, as far as a predicate needs it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.legality import Model
from harness.scenario import Abort, Admit, AdmitDisaggregated, Capture, Finish, Operation, Preempt, Scenario, Step
from harness.trace import RequestState, Snapshot

__all__ = ["History"]


class History:
    """Follows a scenario's operations and the snapshots taken of them."""

    def __init__(self, scenario: Scenario) -> None:
        self._operations = scenario.operations
        self._model = Model(scenario.config)
        self._done = 0
        self._generations: dict[tuple[int, int], dict[str, int]] = {}
        self._replayed: set[tuple[int, int]] = set()
        self.written: dict[str, int] = {}
        self.earlier: dict[str, RequestState] = {}
        self.again: frozenset[str] = frozenset()
        self._reach: dict[str, int] = {}

    def follow(self, now: Snapshot) -> None:
        """Move on to the operation that `now` was taken of."""
        for operation in self._operations[self._done : now.operation + 1]:
            self._model.apply(operation)
            self._write(operation)
        self.again = frozenset()
        self._done = now.operation + 1
        if now.graph is not None:
            self._replayed.add((now.graph, self._model.draft_len))
        operation = self._operations[now.operation]
        if isinstance(operation, Capture):
            generations = {buffer.name: buffer.generation for buffer in now.buffers}
            self._generations[operation.bucket, self._model.draft_len] = generations
        elif isinstance(operation, Step):
            for request, state in now.requests.items():
                if request in self.written:
                    self.written[request] += len(state.emitted)
            self.again = frozenset(
                name for name, state in now.requests.items() if not self._goes_further(name, state)
            )

    def remember(self, now: Snapshot) -> None:
        """Keep what requests showed, for the operations after this one."""
        self.earlier.update(now.requests)

    def _goes_further(self, request: str, state: RequestState) -> bool:
        end = state.position - len(state.emitted) + self._model.draft_len + 1
        before, self._reach[request] = self._reach.get(request, 0), max(end, self._reach.get(request, 0))
        return end > before

    def _write(self, operation: Operation) -> None:
        if isinstance(operation, Admit):
            self.written[operation.request] = operation.prompt_len - (operation.cached or 0)
        elif isinstance(operation, AdmitDisaggregated):
            self.written[operation.request] = 0
        elif isinstance(operation, (Finish, Abort, Preempt)):
            # How a resumed request gets its context back is the engine's affair: it is not counted again.
            self.written.pop(operation.request, None)
            self._reach.pop(operation.request, None)
        if isinstance(operation, (Admit, AdmitDisaggregated)):
            self.earlier.pop(operation.request, None)  # of an earlier request of that name

    @property
    def live(self) -> tuple[str, ...]:
        """Requests that hold a seat."""
        return tuple(self._model.running)

    @property
    def buckets(self) -> frozenset[int]:
        """Buckets whose graph was replayed at the present draft length, and is not void."""
        k = self._model.draft_len
        return frozenset(bucket for bucket, at in self._replayed & self._model.captured if at == k)

    def captured(self, now: Snapshot) -> Mapping[str, int]:
        """Return each buffer's generation when the graph that `now` replayed was captured; empty for none."""
        return {} if now.graph is None else self._generations.get((now.graph, self._model.draft_len), {})
