"""From a session's tensors to a snapshot: layout, identity, digests, graph inputs."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from harness.host.digests import row_digests, rows_first
from harness.protocol import Layout
from harness.targets.base import GraphTensor, Inspection
from harness.trace import Buffer, GraphInput, Snapshot, Violation

__all__ = ["Observer"]

_UNPLACED = Layout("unclassified")


class Observer:
    """Takes the snapshots of one session.

    The last storage seen under each name is kept alive, so a new storage can never have its identity;
    `generation` counts how often the name got another one.
    """

    def __init__(self, layout: Mapping[str, Layout]) -> None:
        self._layout = layout
        self._storages: dict[str, tuple[torch.UntypedStorage, int]] = {}
        self._buffers: dict[str, Buffer] = {}

    def digests(self, seen: Inspection) -> dict[str, tuple[int, ...]]:
        """Return the row digests of every tensor whose rows belong to requests."""
        rows = {
            name: rows_first(item.tensor, layout.row_dim, layout.entries)
            for name, item in seen.tensors.items()
            if (layout := self._layout.get(name, _UNPLACED)).moves_with == "slot"
            and item.pool and name not in seen.graph_tensors and item.tensor.numel()
        }  # fmt: skip
        return dict(zip(rows, row_digests(list(rows.values())), strict=True))

    def snapshot(
        self, operation: int, seen: Inspection, digests: Mapping[str, tuple[int, ...]], findings: list[Violation]
    ) -> Snapshot:
        """Return the state after `operation` as plain data."""
        return Snapshot(
            operation=operation,
            buffers=tuple(
                self._buffer(name, seen, digests.get(name, ()))
                for name in seen.tensors
                if self._layout.get(name, _UNPLACED).moves_with != "transient"
            ),
            pools=seen.pools,
            graph_inputs=tuple(
                _graph_input(name, item, len(seen.batch), seen.padded) for name, item in seen.graph_tensors.items()
            ),
            requests=dict(seen.requests),
            metadata=dict(seen.metadata),
            batch=seen.batch,
            padded=seen.padded,
            graph=seen.graph,
            events=seen.events,
            findings=tuple(findings),
        )

    def _buffer(self, name: str, seen: Inspection, digests: tuple[int, ...]) -> Buffer:
        item, layout = seen.tensors[name], self._layout.get(name, _UNPLACED)
        storage = item.tensor.untyped_storage()
        last = self._storages.get(name)
        if last is None or last[0]._cdata != storage._cdata:
            last = self._storages[name] = (storage, 0 if last is None else last[1] + 1)
        known = self._buffers.get(name)
        if known is not None and known.generation == last[1] and known.digests == digests:
            return known  # most of them, after most operations
        space = (item.pool or "slot") if layout.moves_with == "slot" else layout.moves_with
        rows = item.tensor.shape[layout.row_dim] // layout.entries if item.tensor.dim() else 0
        self._buffers[name] = buffer = Buffer(
            name, space, rows, layout.row_dim, layout.entries, layout.extra,
            owned=bool(digests), storage=storage.data_ptr(), generation=last[1], digests=digests,
        )  # fmt: skip
        return buffer


def _graph_input(name: str, item: GraphTensor, live: int, padded: int) -> GraphInput:
    values = item.tensor[:padded].flatten().tolist()
    width = len(values) // padded if padded else 0
    return GraphInput(name, item.sentinel, item.pool, tuple(values[: live * width]), tuple(values[live * width :]))
