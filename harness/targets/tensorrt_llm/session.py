"""One opened worker as the harness drives it."""

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
    Rebind,
    Step,
    Warmup,
)
from harness.targets.base import Inspection, UnsupportedError
from harness.targets.tensorrt_llm.engine import Engine
from harness.targets.tensorrt_llm.inspection import inspect_engine, slot_events
from harness.trace import Event

__all__ = ["OPERATIONS", "TensorRTLLMSession"]

OPERATIONS = (Capture, Warmup, Admit, AdmitDisaggregated, Step, Finish, Abort, Idle, DraftLen, Rebind)


class TensorRTLLMSession:
    """Applies operations through the worker's own forward."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._events: tuple[Event, ...] = ()

    def apply(self, operation: Operation) -> None:
        """Do `operation`; raises what the worker raises, `UnsupportedError` for what it cannot do."""
        engine = self.engine
        before = dict(engine.parts.worker._req_to_slot)
        engine.begin()
        self._apply(operation)
        self._events = slot_events(engine, before)

    def _apply(self, operation: Operation) -> None:
        engine = self.engine
        if isinstance(operation, Capture):
            engine.capture(operation.bucket)
        elif isinstance(operation, Warmup):
            engine.warmup(operation.bucket)
        elif isinstance(operation, Admit):
            engine.admit(operation.request, operation.prompt_len, operation.chunks)
        elif isinstance(operation, AdmitDisaggregated):
            engine.admit_disaggregated(operation.request, operation.context_len)
        elif isinstance(operation, Step):
            engine.step(operation.requests or tuple(engine.live), operation.graph)
        elif isinstance(operation, (Finish, Abort)):
            engine.finish(operation.request)
        else:
            self._apply_rare(operation)

    def _apply_rare(self, operation: Operation) -> None:
        if isinstance(operation, DraftLen):
            self.engine.set_draft_len(operation.k)
        elif isinstance(operation, Rebind):
            self.engine.rebind()
        elif isinstance(operation, Idle):
            if operation.dp_dummy:
                self.engine.idle()
        else:
            raise UnsupportedError(f"no stand-in of the engine can do {operation.name!r} for this worker")

    def inspect(self) -> Inspection:
        """Show the worker's tensors, slots and last forward."""
        return inspect_engine(self.engine, self._events)

    def close(self) -> None:
        """Let go of everything the session holds."""
        self.engine.graphs.clear()
        self.engine.live.clear()
