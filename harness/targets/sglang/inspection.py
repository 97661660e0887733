"""What a session shows: the engine's per-request pools, its relay, and the inputs of its captured graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.targets.common.session import POOL
from harness.trace import Event, Pool

if TYPE_CHECKING:
    from harness.targets.sglang.engine import SGLangEngine

__all__ = ["inspect_engine"]

# Row 0 belongs to nobody: padding, and whatever else names no request, reads and writes there.
_RESERVED = 0
# On CUDA a step begins with a copy of all lengths to the host, those of rows too that are in no batch now.
_MIRROR = "new_seq_lens_cpu_pinned"
# Inputs of a forward, and whose rows they name. What else a graph is given keeps its tail, which nobody reads.
_SENTINELS = {"req_pool_indices": POOL, "out_cache_loc": "", "positions": "", "seq_lens": ""}


def inspect_engine(engine: SGLangEngine, events: tuple[Event, ...]) -> Inspection:
    """Show the state after the last operation."""
    parts = engine.parts
    requests = parts.pools.requests
    tensors = {"pool.req_to_token": PersistentTensor(requests.req_to_token, POOL, data=False)}
    tensors["pool.req_generation"] = PersistentTensor(requests.req_generation, POOL, data=False)
    tensors |= {
        f"relay.{name}": PersistentTensor(value, "" if name == _MIRROR else POOL, data=False)
        for name, value in _tensors(parts.relay)
    }
    confidence = parts.relay.confidence_relay.confidence_buf
    if confidence is not None:
        tensors["relay.confidence_buf"] = PersistentTensor(confidence, POOL)
    tensors["draft.kv"] = PersistentTensor(engine.contexts.gather(engine.live.values()), POOL, data=False)
    sampler = parts.worker._draft_sampler
    tensors |= {f"sampler.{name}": PersistentTensor(value) for name, value in _tensors(sampler)}
    # Batch buffers grow with the live batch: another size is another buffer, not one that moved under a graph.
    tensors |= {
        f"worker.{name}[{value.shape[0]} rows]": PersistentTensor(value)
        for name, value in _tensors(parts.worker)
        if value.dim()
    }
    graph_tensors: dict[str, GraphTensor] = {}
    for owner, runner in (("target", parts.target.model_runner), ("draft", parts.draft)):
        graphs = engine.graphs_of(runner)
        tensors |= {f"{owner}.{name}": PersistentTensor(value) for name, value in _tensors(graphs.buffers)}
        eager = engine.graph is None and bool(engine.stepped)
        inputs = _eager_inputs(runner) if eager else _graph_buffers(graphs)
        graph_tensors |= {
            f"{owner}.{name}": GraphTensor(value, graphs.seq_len_fill_value if name == "seq_lens" else 0, pool)
            for name, pool in _SENTINELS.items()
            if (value := inputs.get(name)) is not None
        }
    shown = {name: request.state() for name, request in engine.stepped.items()}
    pool = Pool(
        POOL, requests.size, _RESERVED,
        # Who was refused a row owns none, whatever the engine then sends it to.
        {
            name: request.row
            for name, request in engine.live.items()
            if request.kv.holds_kv and not engine.rows_told.refused(name)
        },
        tuple(requests.free_slots), first=1, generations=tuple(requests.req_generation.tolist()),
    )  # fmt: skip
    budget = {"tokens": engine.reserved}, {"tokens": engine.consumed}
    return Inspection(
        tensors, graph_tensors, (pool,), shown, _facts(engine), engine.batch, engine.padded, engine.graph,
        (*events, *engine.rows_told.refusals), *(budget if engine.stepped else ({}, {})),
        fields=(*engine.fields.shown(), *engine.batches.fields()),
    )  # fmt: skip


def _eager_inputs(runner: Any) -> dict[str, torch.Tensor]:
    """Return the inputs of a forward without a graph; what is shown is poisoned, but a batch keeps its rows."""
    rows = runner.eager_inputs["req_pool_indices"]
    return {**runner.eager_inputs, "req_pool_indices": rows.clone()}


def _graph_buffers(graphs: Any) -> dict[str, torch.Tensor]:
    """Return the inputs whose padding the engine promises, a row a batch row."""
    buffers = {}
    for name in _SENTINELS:
        slot = graphs.buffer_registry.get_slot(name)
        buffers[name] = slot.buffer.view(-1, graphs.captured_req_width) if slot.axis == "tokens" else slot.buffer
    return buffers


def _tensors(owner: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor that an object holds by itself, or in a list."""
    fields = vars(owner) if hasattr(owner, "__dict__") else {}
    for name, value in fields.items():
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, torch.Tensor))


def _facts(engine: SGLangEngine) -> dict[str, int]:
    graphs = engine.graphs_of(engine.parts.draft)
    sampler = engine.parts.worker._draft_sampler
    return {
        "pool size": engine.parts.pools.requests.size,
        "runner max_bs": graphs.max_bs,
        "sampler rows": sampler.out.numel() // engine.config.draft_len,
    }
