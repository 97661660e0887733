"""From a session's tensors to a snapshot: layout, identity, digests, graph inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from harness.host.digests import Digester, Digests, Rows
from harness.protocol import Layout
from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.trace import Buffer, GraphInput, Snapshot, Violation

__all__ = ["Observer", "slot_rows"]

_UNPLACED = Layout("unclassified")


def slot_rows(layout: Mapping[str, Layout], seen: Inspection) -> Iterator[tuple[str, PersistentTensor, Rows]]:
    """Yield each tensor that a pool addresses row by row, and where its rows are."""
    for name, item in seen.tensors.items():
        placed = layout.get(name, _UNPLACED)
        if item.pool and placed.moves_with == "slot" and item.tensor.numel():
            yield name, item, (item.tensor, placed.row_dim, placed.entries)


class Observer:
    """Takes the snapshots of one session.

    The last storage seen under each name is kept alive, so a new storage can never have its identity;
    `generation` counts how often the name got another one.
    """

    def __init__(self, layout: Mapping[str, Layout]) -> None:
        self._layout = layout
        self._digest = Digester()
        self._storages: dict[str, tuple[torch.UntypedStorage, int]] = {}
        self._buffers: dict[str, Buffer] = {}

    def digests(self, seen: Inspection) -> Digests:
        """Return the row digests of every tensor whose rows belong to requests."""
        placed = slot_rows(self._layout, seen)
        return self._digest({name: rows for name, _, rows in placed if name not in seen.graph_tensors})

    def snapshot(self, operation: int, seen: Inspection, digests: Digests, findings: list[Violation]) -> Snapshot:
        """Return the state after `operation` as plain data."""
        live, padded = len(seen.batch), seen.padded
        return Snapshot(
            operation=operation,
            buffers=tuple(
                self._buffer(name, item, digests.get(name, ()))
                for name, item in seen.tensors.items()
                if self._layout.get(name, _UNPLACED).moves_with != "transient"
            ),
            pools=seen.pools,
            graph_inputs=tuple(
                _graph_input(name, item, live, padded) for name, item in seen.graph_tensors.items()
            ),
            requests=dict(seen.requests),
            metadata=dict(seen.metadata),
            batch=seen.batch,
            padded=padded,
            graph=seen.graph,
            events=seen.events,
            findings=tuple(findings),
            reserved=dict(seen.reserved),
            consumed=dict(seen.consumed),
            fields=seen.fields,
        )

    def _buffer(self, name: str, item: PersistentTensor, digests: tuple[int, ...]) -> Buffer:
        storage = item.tensor.untyped_storage()
        last = self._storages.get(name)
        if last is None or last[0]._cdata != storage._cdata:
            last = self._storages[name] = (storage, 0 if last is None else last[1] + 1)
        known = self._buffers.get(name)
        if known is not None and known.generation == last[1] and known.digests == digests:
            return known  # most of them, after most operations
        layout = self._layout.get(name, _UNPLACED)
        shape = item.tensor.shape
        self._buffers[name] = buffer = Buffer(
            name,
            space=(item.pool or "slot") if layout.moves_with == "slot" else layout.moves_with,
            rows=shape[layout.row_dim] // layout.entries if shape else 0,
            row_dim=layout.row_dim,
            entries=layout.entries,
            extra=layout.extra,
            owned=bool(digests),
            storage=storage.data_ptr(),
            generation=last[1],
            digests=digests,
            stride=item.tensor.stride(layout.row_dim) * layout.entries if shape else 0,
            index_bits=item.index_bits,
            guard=item.guard,
            data=item.data,
            initial=item.initial,
        )
        return buffer


def _graph_input(name: str, item: GraphTensor, live: int, padded: int) -> GraphInput:
    values = item.tensor[:padded].flatten().tolist()
    border = len(values) // padded * live if padded else 0
    bits = 8 * item.tensor.element_size()
    return GraphInput(name, item.sentinel, item.pool, tuple(values[:border]), tuple(values[border:]), bits)
