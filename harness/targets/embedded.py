"""The embedded engine as a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
from harness.engine import Engine, Parts
from harness.engine.context import DenseContext
from harness.engine.seating import Seating
from harness.faults import FAULTS, apply_faults
from harness.protocol import Description, FaultOrigin
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
    Preempt,
    Prefill,
    Rebind,
    Resume,
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
    Admit: lambda engine, op: engine.admit(op.request, op.prompt_len, op.chunks, op.cached or 0, bool(op.pause)),
    Prefill: lambda engine, op: engine.prefill(op.request),
    AdmitDisaggregated: lambda engine, op: engine.admit_disaggregated(op.request, op.context_len),
    Step: lambda engine, op: engine.step(op.requests, op.graph),
    Finish: lambda engine, op: engine.finish(op.request),
    Abort: lambda engine, op: engine.abort(op.request),
    Preempt: lambda engine, op: engine.preempt(op.request),
    Resume: lambda engine, op: engine.resume(op.request),
    Idle: lambda engine, op: engine.idle(op.dp_dummy),
    DraftLen: lambda engine, op: engine.set_draft_len(op.k),
    Rebind: lambda engine, _: engine.rebind(),
}


def _seated(seating: Seating) -> dict[str, PersistentTensor]:
    """Return what a seat addresses; pages, states and sampling parameters where their option is on."""
    context = seating.context
    if isinstance(context, DenseContext):
        tensors = {"target.cache": PersistentTensor(context.cache, "seats")}
    else:
        tensors = {
            "target.pages": PersistentTensor(context.cache, "pages", guard=1),
            "target.page_table": PersistentTensor(context.table, "seats", data=False, initial=seating.null),
        }
    if (recurrent := seating.recurrent) is not None:
        tensors["target.state"] = PersistentTensor(
            recurrent.state, "seats", initial=0, guard=recurrent.guard, index_bits=recurrent.index_bits
        )
    if seating.sampling is not None:
        tensors["target.seeds"] = PersistentTensor(seating.sampling.seeds, "seats", data=False)
        tensors["target.temperatures"] = PersistentTensor(seating.sampling.temperatures, "seats", data=False)
    return tensors


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
            faults={name: fault.summary for name, fault in FAULTS.items()},
            dummy="a row behind the pool: row num_seq_slots",
            releases="at finish or abort; with overlap, one step after a request's last one",
            keeps_absent=True,
            own=("target model", "draft models", "workers", "slot pools", "metadata"),
            stand_ins=(),
            options=("sampling", "overlap", "page_size", "recurrent", "verify", "weights"),
            origins={name: FaultOrigin(fault.kind, fault.modelled_on) for name, fault in FAULTS.items()},
        )

    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        """Open an engine; every configuration that is legal can be opened."""
        parts = apply_faults(Parts(), options.faults)
        return EmbeddedSession(Engine(config, parts, options.capture, options.device, acquired=options.acquired))


class EmbeddedSession:
    """One opened engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # The engine's own tensors stay for its life; the worker's come with its pools and are looked up anew.
        forward, seating = engine.forward, engine.seating
        self._tensors = _seated(seating)
        self._tensors |= {f"inputs.{name}": PersistentTensor(tensor) for name, tensor in forward.inputs.items()}
        self._tensors["outputs.packed"] = PersistentTensor(forward.outputs)
        self._tensors["outputs.confidence"] = PersistentTensor(forward.confidence)
        self._graph_tensors = {f"inputs.{name}": GraphTensor(tensor, 0) for name, tensor in forward.inputs.items()}
        told = engine.metadata
        self._capacities = {"max_num_requests": told.max_num_requests, "num_seq_slots": told.num_seq_slots}
        self._graph_tensors["inputs.seats"] = GraphTensor(forward.inputs["seats"], seating.pool.dummy, "seats")

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
        pools = engine.seating.views()
        events = engine.seating.take_events()
        if worker.pool is not None:
            graph_tensors["worker.batch_to_slot"] = GraphTensor(worker.batch_to_slot, worker.pool.dummy, "slots")
            pools.append(worker.pool.view(int(worker.ctx_len[worker.pool.dummy])))
            events += worker.pool.take_events()
        last = engine.last
        return Inspection(
            tensors, graph_tensors, tuple(pools), last.requests, self._capacities,
            last.batch, last.padded, last.graph, events,
            last.reserved, last.consumed, last.fields,
        )  # fmt: skip

    def close(self) -> None:
        """Nothing to do: the tensors go with the session."""
