"""A session with a released engine: operations go to the few lines of a scheduler that feed its own code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Prefill,
    Resume,
    Step,
    Warmup,
)
from harness.targets.base import Inspection, UnsupportedError
from harness.targets.common.zones import Zones
from harness.trace import Event, EventKind

__all__ = ["OPERATIONS", "POOL", "Engine", "ReleasedSession", "open_session"]

OPERATIONS = (
    Capture, Warmup, Admit, Prefill, AdmitDisaggregated, Step, Finish, Abort, Preempt, Resume, Idle, DraftLen
)  # fmt: skip
POOL = "requests"  # the pool whose rows are requests


class Engine(Protocol):
    """What a scheduler of an engine does, an operation each. Raises what it raises, or `UnsupportedError`."""

    def begin(self) -> None:
        """Forget what the last operation showed."""

    def rows(self) -> dict[str, int]:
        """Return who holds which row; in the order in which requests came."""

    def capture(self, bucket: int) -> None:
        """Capture a bucket of both models."""

    def warmup(self, bucket: int | None) -> None:
        """Run dummies: in a bucket's shape, or the engine's eager warm-up."""

    def admit(self, name: str, prompt_len: int, chunks: Sequence[int], cached: int) -> None:
        """Give a request a row and prefill chunks of its prompt, () for all of it, behind a cached prefix."""

    def prefill(self, name: str, chunk: int) -> None:
        """Prefill the next chunk of a prompt."""

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Take over a request that another server prefilled."""

    def step(self, names: Sequence[str], graph: bool | None) -> None:
        """Do a decode step of the named requests."""

    def finish(self, name: str) -> None:
        """Let a request go."""

    def preempt(self, name: str) -> None:
        """Take a request's row."""

    def resume(self, name: str) -> None:
        """Give a preempted request a row again."""

    def idle(self, *, dp_dummy: bool) -> None:
        """Do a step without a request."""

    def draft_len(self, k: int) -> None:
        """Set the runtime draft length."""

    def inspect(self, events: tuple[Event, ...]) -> Inspection:
        """Show the state after the last operation."""

    def close(self) -> None:
        """Let go of everything."""


class ReleasedSession:
    """One opened engine.

    computing  the scope in which its code runs; check: raises if an operation stored where it may not.
    """

    def __init__(
        self,
        title: str,
        engine: Engine,
        computing: Callable[[], AbstractContextManager[None]],
        check: Callable[[], None],
    ) -> None:
        self._title, self._engine, self._computing, self._check = title, engine, computing, check
        self._events: tuple[Event, ...] = ()
        self._chunks: dict[str, list[int]] = {}

    def apply(self, operation: Operation) -> None:
        """Do `operation`; raises what the worker raises, `UnsupportedError` for what it cannot do."""
        before = self._engine.rows()
        self._engine.begin()
        try:
            with self._computing():
                self._apply(operation)
            self._check()
        finally:
            self._events = _row_events(before, self._engine.rows())

    def _apply(self, operation: Operation) -> None:
        engine = self._engine
        if isinstance(operation, Capture):
            engine.capture(operation.bucket)
        elif isinstance(operation, Warmup):
            engine.warmup(operation.bucket)
        elif isinstance(operation, Admit):
            self._admit(operation)
        elif isinstance(operation, Prefill):
            engine.prefill(operation.request, self._chunks[operation.request].pop(0))
        elif isinstance(operation, Step):
            waiting = [name for name, chunks in self._chunks.items() if chunks]
            everybody = tuple(name for name in engine.rows() if name not in waiting)
            engine.step(operation.requests or everybody, operation.graph)
        elif isinstance(operation, (Finish, Abort)):
            self._chunks.pop(operation.request, None)
            engine.finish(operation.request)
        else:
            self._apply_rare(operation)

    def _apply_rare(self, operation: Operation) -> None:
        engine = self._engine
        if isinstance(operation, AdmitDisaggregated):
            engine.admit_disaggregated(operation.request, operation.context_len)
        elif isinstance(operation, Preempt):
            engine.preempt(operation.request)
        elif isinstance(operation, Resume):
            engine.resume(operation.request)
        elif isinstance(operation, Idle):
            engine.idle(dp_dummy=operation.dp_dummy)
        elif isinstance(operation, DraftLen):
            engine.draft_len(operation.k)
        else:
            raise UnsupportedError(f"{self._title} has no operation {operation.name!r}")

    def _admit(self, operation: Admit) -> None:
        cached = operation.cached or 0
        if operation.pause:
            first, *rest = operation.chunks
            self._chunks[operation.request] = rest
            self._engine.admit(operation.request, operation.prompt_len, (first,), cached)
        else:
            self._engine.admit(operation.request, operation.prompt_len, operation.chunks, cached)

    def inspect(self) -> Inspection:
        """Show pools, graph inputs and the last forward."""
        return self._engine.inspect(self._events)

    def close(self) -> None:
        """Let go of everything the session holds, and put back what it changed in the process."""
        self._engine.close()


def open_session(
    title: str, device: str, computing: Callable[[str], AbstractContextManager[None]], make: Callable[[], Engine]
) -> ReleasedSession:
    """Open the engine that `make` builds: in the scope of its code on `device`, its buffers between red zones."""
    zones = Zones(device)
    with computing(device), zones.allocating():
        engine = make()
    return ReleasedSession(title, engine, partial(computing, device), zones.check)


def _row_events(before: dict[str, int], after: dict[str, int]) -> tuple[Event, ...]:
    """Return who got and who lost a row. Who has another row than before did neither: no operation does that."""
    released = [Event(EventKind.RELEASE, POOL, name, row) for name, row in before.items() if name not in after]
    acquired = [Event(EventKind.ACQUIRE, POOL, name, row) for name, row in after.items() if name not in before]
    return tuple(released + acquired)
