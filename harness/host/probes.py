"""Probes: host-side code that writes and reads device state around an operation.

canary  rows that nobody owns are filled with a pattern before a forward (content only: in an index or a cursor
        it would be an address out of range) and must hold it afterwards. A row that was given back is one of
        them: it is poisoned, and whoever gets it and reads what it did not write drafts otherwise than alone.
guard   rows behind a pool that are nobody's at any time, filled with the pattern, or with zeros in an index.
poison  graph inputs are filled with legal but wrong values before a step, so that a row of padding which
        the step does not write shows as a stale tail.
fresh   a row that somebody gets holds what the target declares that it then holds.

All of it is written and read outside of forwards, so graphs and tapes see it as they see any other content.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from harness.host.digests import Digester, Digests, Rows
from harness.host.observe import slot_rows
from harness.protocol import Layout
from harness.targets.base import Inspection, PersistentTensor
from harness.trace import Violation

__all__ = ["CanaryProbe", "FreshProbe", "poison_graph_inputs"]

Tensor = torch.Tensor
_PATTERN = 977.0  # finite, exact in every float type, and nothing that a model computes


def poison_graph_inputs(seen: Inspection) -> None:
    """Overwrite all rows of all graph inputs with a value that is legal and not the sentinel."""
    for item in seen.graph_tensors.values():
        item.tensor.fill_(1 if item.sentinel == 0 else 0)


def _pattern(item: PersistentTensor) -> float:
    return _PATTERN if item.data else 0.0


def _row(rows: Rows, row: int) -> Tensor:
    tensor, row_dim, entries = rows
    return tensor.narrow(row_dim, row * entries, entries)


class CanaryProbe:
    """Fills rows that are nobody's before an operation and looks at them after it."""

    def __init__(self, layout: Mapping[str, Layout]) -> None:
        self._layout = layout
        self._patterns: dict[tuple[str, torch.Size], int] = {}
        self._watched: dict[str, tuple[int, list[int], range]] = {}

    def fill(self, seen: Inspection, digests: Digests) -> None:
        """Write the pattern into every row that no request owns, the dummy's excepted.

        `digests` are those of the last look, since when nothing happened: what still holds it is left alone.
        """
        self._watched = {}
        pools = {pool.name: ({*pool.taken(), pool.dummy}, pool) for pool in seen.pools}
        for name, item, rows in slot_rows(self._layout, seen):
            if item.pool not in pools or (not item.data and not item.guard) or name not in digests:
                continue
            count = len(digests[name])
            guard = range(count - item.guard, count)
            others = range(guard.start) if item.data else range(0)
            unowned = [row for row in others if row not in pools[item.pool][0]]
            pattern = self._digest(name, item, rows)
            for row in (*unowned, *guard):
                if digests[name][row] != pattern:
                    _row(rows, row).fill_(_pattern(item))
            self._watched[name] = pattern, unowned, guard

    def _digest(self, name: str, item: PersistentTensor, rows: Rows) -> int:
        key = (name, item.tensor.shape)
        if key not in self._patterns:
            filled = torch.full_like(_row(rows, 0), _pattern(item))
            (self._patterns[key],) = Digester()({name: (filled, *rows[1:])})[name]
        return self._patterns[key]

    def findings(self, seen: Inspection, digests: Digests, operation: int) -> list[Violation]:
        """Return a violation for each filled row that changed, by the digests taken after the operation.

        A row that somebody got during it is his to write.
        """
        given = {pool.name: pool.taken() for pool in seen.pools}
        found = []
        for name, (pattern, unowned, guard) in self._watched.items():
            now = digests.get(name, ())
            taken = given.get(seen.tensors[name].pool, set()) if name in seen.tensors else set()
            found += [
                _written(name, row, operation, guard=row in guard)
                for row in (*unowned, *guard)
                if row < len(now) and now[row] != pattern and row not in taken
            ]
        self._watched = {}
        return found


def _written(name: str, row: int, operation: int, *, guard: bool) -> Violation:
    if guard:
        return Violation(
            "I-SPACE", "guard", f"row {row} of {name} lies behind the pool and was written",
            operation, "the guard's pattern, untouched", "other content", name, row,
        )  # fmt: skip
    return Violation(
        "I-SCRATCH", "canary", f"row {row} of {name} belongs to nobody and was written",
        operation, "the canary pattern, untouched", "other content", name, row,
    )  # fmt: skip


class FreshProbe:
    """Looks at a row when somebody gets it: reset, and not written yet."""

    def __init__(self, layout: Mapping[str, Layout]) -> None:
        self._layout = layout
        self._seen: Inspection | None = None
        self._found: list[tuple[str, int, float]] = []

    def acquired(self, pool: str, row: int) -> None:
        """Compare a row with what the target declares that it holds now."""
        for name, item, rows in slot_rows(self._layout, self._seen) if self._seen else ():
            if (
                item.pool == pool
                and item.initial is not None
                and not bool((_row(rows, row) == item.initial).all())
            ):
                self._found.append((name, row, item.initial))

    def look(self, seen: Inspection, operation: int) -> list[Violation]:
        """Take the tensors that rows are in from now on; return what was found since the last time."""
        self._seen, found, self._found = seen, self._found, []
        return [
            Violation(
                "I-FRESH", "not-reset", f"row {row} of {name} was given to a request with another's content in it",
                operation, f"{initial:g} everywhere", "something else", name, row,
            )
            for name, row, initial in found
        ]  # fmt: skip
