"""A session with SGLang: operations go through the worker's own forwards."""

from __future__ import annotations

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
from harness.targets.sglang.device import computing
from harness.targets.sglang.engine import Engine
from harness.targets.sglang.inspection import inspect_engine, row_events
from harness.trace import Event

__all__ = ["OPERATIONS", "SGLangSession"]

OPERATIONS = (
    Capture, Warmup, Admit, Prefill, AdmitDisaggregated, Step, Finish, Abort, Preempt, Resume, Idle, DraftLen
)  # fmt: skip


class SGLangSession:
    """One opened engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._events: tuple[Event, ...] = ()
        self._chunks: dict[str, list[int]] = {}

    def apply(self, operation: Operation) -> None:
        """Do `operation`; raises what the worker raises, `UnsupportedError` for what it cannot do."""
        before = self.engine.rows()
        self.engine.begin()
        with computing(self.engine.device):
            self._apply(operation)
        self._events = row_events(before, self.engine.rows())

    def _apply(self, operation: Operation) -> None:
        engine = self.engine
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
            everybody = tuple(name for name in engine.live if name not in waiting)
            engine.step(operation.requests or everybody, operation.graph)
        elif isinstance(operation, (Finish, Abort)):
            self._chunks.pop(operation.request, None)
            engine.finish(operation.request)
        else:
            self._apply_rare(operation)

    def _apply_rare(self, operation: Operation) -> None:
        engine = self.engine
        if isinstance(operation, AdmitDisaggregated):
            engine.admit_disaggregated(operation.request, operation.context_len)
        elif isinstance(operation, Preempt):
            engine.preempt(operation.request)
        elif isinstance(operation, Resume):
            engine.resume(operation.request)
        elif isinstance(operation, Idle) and not operation.dp_dummy:
            engine.idle()
        elif isinstance(operation, Idle):
            raise UnsupportedError("a data-parallel dummy needs attention data parallelism, and so more ranks")
        elif isinstance(operation, DraftLen) and operation.k == engine.config.draft_len:
            return
        elif isinstance(operation, DraftLen):
            raise UnsupportedError(
                "SGLang's block is as long as it was configured: no other draft length at run time"
            )
        else:
            raise UnsupportedError(f"SGLang has no operation {operation.name!r}")

    def _admit(self, operation: Admit) -> None:
        cached = operation.cached or 0
        if operation.pause:
            first, *rest = operation.chunks
            self._chunks[operation.request] = rest
            self.engine.admit(operation.request, operation.prompt_len, (first,), cached)
        else:
            self.engine.admit(operation.request, operation.prompt_len, operation.chunks, cached)

    def inspect(self) -> Inspection:
        """Show pools, relay, graph inputs and the last forward."""
        return inspect_engine(self.engine, self._events)

    def close(self) -> None:
        """Let go of everything the session holds, and put back what it changed in the process."""
        self.engine.parts.undo.close()
        self.engine.live.clear()
