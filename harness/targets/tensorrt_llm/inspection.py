"""What a session shows: every tensor that the worker and the metadata hold, and the worker's slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.targets.tensorrt_llm.engine import Engine
from harness.trace import Event, EventKind, Pool

__all__ = ["inspect_engine", "slot_events"]

POOL = "slots"
_TROUBLE = ("warning", "error", "critical")


def inspect_engine(engine: Engine, events: tuple[Event, ...]) -> Inspection:
    """Show the state after the last operation."""
    worker = engine.parts.worker
    tensors = {
        f"worker.{name}": PersistentTensor(tensor, POOL, data=tensor.is_floating_point())
        for name, tensor in _tensors(worker)
    }
    tensors |= {f"metadata.{name}": PersistentTensor(tensor) for name, tensor in _tensors(engine.parts.metadata)}
    pool = _pool(engine)
    graph_tensors = {}
    if pool is not None and pool.dummy is not None:
        graph_tensors["worker._batch_to_slot"] = GraphTensor(worker._batch_to_slot, pool.dummy, POOL)
    shown = {name: engine.live[name].state() for name in engine.batch if name in engine.live}
    return Inspection(
        tensors, graph_tensors, () if pool is None else (pool,), shown, _facts(engine),
        engine.batch, engine.padded, engine.graph, events,
    )  # fmt: skip


def _tensors(owner: Any, prefix: str = "", depth: int = 2) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor an object holds by itself, in lists or in mappings."""
    items = owner.items() if isinstance(owner, dict) else vars(owner).items()
    for key, value in items:
        name = prefix if key in ("_buffers", "_parameters") else f"{prefix}{key}"
        if isinstance(value, torch.Tensor):
            yield name, value
        elif depth and isinstance(value, dict) and all(isinstance(inner, str) for inner in value):
            yield from _tensors(value, "" if name == prefix else f"{name}.", depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, torch.Tensor))


def _pool(engine: Engine) -> Pool | None:
    """Return the worker's slot pool, None while it has none."""
    worker, shape = engine.parts.worker, engine.parts.shape
    if worker._batch_to_slot is None:
        return None
    live = {request.number for request in engine.live.values()}
    owners = {engine.name_of(number): slot for number, slot in worker._req_to_slot.items() if number in live}
    # Slots of ended requests are free only once a batch without them is prepared.
    retiring = tuple(slot for number, slot in worker._req_to_slot.items() if number not in live)
    free = tuple(worker._free_slots)
    dummy = getattr(worker, shape.dummy) if shape.dummy else 0
    return Pool(POOL, len(free) + len(owners) + len(retiring), dummy, owners, free, retiring)


def slot_events(engine: Engine, before: dict[int, int]) -> tuple[Event, ...]:
    """Return what happened to the slots since `before`, and what the worker warned of."""
    after = engine.parts.worker._req_to_slot
    events = [
        Event(EventKind.RELEASE, POOL, engine.name_of(number), slot)
        for number, slot in before.items()
        if after.get(number) != slot
    ]
    events += [
        Event(EventKind.ACQUIRE, POOL, engine.name_of(number), slot)
        for number, slot in after.items()
        if before.get(number) != slot
    ]
    said, engine.logger.said[:] = list(engine.logger.said), []
    events += [Event(EventKind.WARN, text=text) for level, text in said if level in _TROUBLE]
    return tuple(events)


def _facts(engine: Engine) -> dict[str, int]:
    names = ("max_num_requests", "num_seq_slots", "max_draft_len", "runtime_draft_len", "num_generations")
    metadata = engine.parts.metadata
    facts = {name: value for name in names if isinstance(value := getattr(metadata, name, None), int)}
    for bucket, graph in engine.graphs.items():
        for name in names[:2]:
            if isinstance(value := getattr(graph.metadata, name, None), int):
                facts[f"bucket {bucket}: {name}"] = value
    return facts
