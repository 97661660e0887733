"""The embedded engine as a target."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import harness
from harness.engine import Engine, Parts
from harness.faults import FAULTS, apply_faults
from harness.protocol import Description
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Rebind,
    Step,
    Warmup,
)
from harness.targets.base import (
    GraphTensor,
    Inspection,
    OpenOptions,
    PersistentTensor,
    UnsupportedError,
)

__all__ = ["EmbeddedSession", "EmbeddedTarget"]

_APPLY: dict[type[Operation], Callable[[Engine, Any], None]] = {
    Capture: lambda engine, op: engine.capture(op.bucket),
    Warmup: lambda engine, op: engine.warmup(op.bucket),
    Admit: lambda engine, op: engine.admit(op.request, op.prompt_len, op.chunks, op.cached or 0),
    AdmitDisaggregated: lambda engine, op: engine.admit_disaggregated(op.request, op.context_len),
    Step: lambda engine, op: engine.step(op.requests, op.graph),
    Finish: lambda engine, op: engine.finish(op.request),
    Abort: lambda engine, op: engine.finish(op.request),
    Idle: lambda engine, op: engine.idle(op.dp_dummy),
    DraftLen: lambda engine, op: engine.set_draft_len(op.k),
    Rebind: lambda engine, _: engine.rebind(),
}


class EmbeddedTarget:
    """The engine in `harness.engine`: all of it is its own, nothing is a stand-in."""

    def describe(self) -> Description:
        """Say what the embedded engine is and can do."""
        return Description(
            name="embedded",
            version=harness.__version__,
            devices=("cpu", "cuda"),
            workers=("dflash", "dspark"),
            operations=tuple(operation.name for operation in _APPLY),
            faults={name: fault.summary for name, fault in sorted(FAULTS.items())},
            dummy="a row behind the pool: row num_seq_slots",
            releases="at finish or abort",
            keeps_absent=True,
            own=("target model", "draft models", "workers", "slot pools", "metadata"),
            stand_ins=(),
        )

    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        """Open an engine; every configuration that is legal can be opened."""
        parts = apply_faults(Parts(), options.faults)
        return EmbeddedSession(Engine(config, parts, options.capture, options.device))


class EmbeddedSession:
    """One opened engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # The engine's own tensors stay for its life; the worker's come with its pools and are looked up anew.
        self._tensors = {"target.cache": PersistentTensor(engine.cache, "seats")}
        self._tensors |= {f"inputs.{name}": PersistentTensor(tensor) for name, tensor in engine.inputs.items()}
        self._tensors["outputs.packed"] = PersistentTensor(engine.outputs)
        self._tensors["outputs.confidence"] = PersistentTensor(engine.confidence)
        self._graph_tensors = {
            "inputs.tokens": GraphTensor(engine.inputs["tokens"], 0),
            "inputs.positions": GraphTensor(engine.inputs["positions"], 0),
            "inputs.seats": GraphTensor(engine.inputs["seats"], engine.seats.dummy, "seats"),
        }

    def apply(self, operation: Operation) -> None:
        """Do `operation`; raises what the engine raises."""
        do = _APPLY.get(type(operation))
        if do is None:
            raise UnsupportedError(f"the embedded engine has no operation {operation.name!r}")
        do(self.engine, operation)

    def inspect(self) -> Inspection:
        """Show the engine's tensors, pools and last forward."""
        engine, worker = self.engine, self.engine.worker
        tensors, graph_tensors = dict(self._tensors), dict(self._graph_tensors)
        for name, tensor in worker.tensors().items():
            tensors[f"worker.{name}"] = PersistentTensor(tensor, "slots", data=tensor.is_floating_point())
        pools = [engine.seats.view()]
        events = engine.seats.take_events()
        if worker.pool is not None:
            graph_tensors["worker.batch_to_slot"] = GraphTensor(worker.batch_to_slot, worker.pool.dummy, "slots")
            pools.append(worker.pool.view(int(worker.ctx_len[worker.pool.dummy])))
            events += worker.pool.take_events()
        last = engine.last
        return Inspection(
            tensors, graph_tensors, tuple(pools), last.requests, self._metadata(),
            last.batch, last.padded, last.graph, events,
        )  # fmt: skip

    def _metadata(self) -> dict[str, int]:
        return {
            field.name: int(value)
            for field in dataclasses.fields(self.engine.metadata)
            if isinstance(value := getattr(self.engine.metadata, field.name), int)
        }

    def close(self) -> None:
        """Nothing to do: the tensors go with the session."""
