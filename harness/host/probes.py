"""Probes: host-side code that writes and reads device state around a step.

canary  rows that nobody owns are filled with a pattern before a step (content only: in an index or a
        cursor it would be an address out of range) and must hold it afterwards.
poison  graph inputs are filled with legal but wrong values before a step, so that a row of padding which
        the step does not write shows as a stale tail.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from harness.host.digests import row_digests, rows_first
from harness.protocol import Layout
from harness.targets.base import Inspection, PersistentTensor
from harness.trace import Pool, Violation

__all__ = ["CanaryProbe", "poison_graph_inputs"]

Tensor = torch.Tensor
_PATTERN = 977.0  # finite, exact in every float type, and nothing that a model computes


def poison_graph_inputs(seen: Inspection) -> None:
    """Overwrite all rows of all graph inputs with a value that is legal and not the sentinel."""
    for item in seen.graph_tensors.values():
        item.tensor.fill_(1 if item.sentinel == 0 else 0)


class CanaryProbe:
    """Fills unowned rows of content buffers before a step and looks at them after it."""

    def __init__(self, layout: Mapping[str, Layout]) -> None:
        self._layout = layout
        self._patterns: dict[str, int] = {}
        self._filled: dict[str, list[int]] = {}

    def fill(self, seen: Inspection) -> None:
        """Write the pattern into every row that no request owns, the dummy's excepted."""
        self._filled = {}
        for name, item in seen.tensors.items():
            pool = _pool_of(seen, item)
            layout = self._layout.get(name)
            if pool is None or layout is None or layout.moves_with != "slot" or not item.data:
                continue
            rows = rows_first(item.tensor, layout.row_dim, layout.entries)
            unowned = set(range(rows.shape[0])) - set(pool.owners.values()) - set(pool.retiring) - {pool.dummy}
            for row in unowned:
                rows[row].fill_(_PATTERN)
            if unowned:
                self._filled[name] = sorted(unowned)
                if name not in self._patterns:
                    ((self._patterns[name],),) = row_digests([torch.full_like(rows[:1], _PATTERN)])

    def findings(
        self, seen: Inspection, digests: Mapping[str, tuple[int, ...]], operation: int
    ) -> list[Violation]:
        """Return a violation for each filled row that changed, by the digests taken after the step.

        A row that somebody got during the step is his to write.
        """
        given = {pool.name: {*pool.owners.values(), *pool.retiring} for pool in seen.pools}
        return [
            Violation(
                "I-SCRATCH", "canary", f"row {row} of {name} belongs to nobody and was written",
                operation, "the canary pattern, untouched", "other content", name, row,
            )
            for name, rows in self._filled.items()
            for row in rows
            if row not in given.get(seen.tensors[name].pool, ())
            if digests[name][row] != self._patterns[name]
        ]  # fmt: skip


def _pool_of(seen: Inspection, item: PersistentTensor) -> Pool | None:
    return next((pool for pool in seen.pools if pool.name == item.pool), None)
