"""The slot map: who owned which row of a pool after every operation, what was written, and what was broken.

A pure function of a trace. The terminal, the page and the pictures of the docs all draw the same record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.report.story import told
from harness.trace import Outcome, Pool, Snapshot, Trace, Violation

__all__ = ["Cell", "Line", "SlotMap", "slot_map"]

_OF_BATCH_ROWS = ("I-TAIL",)  # the row that they name is one of the batch, not of a pool


@dataclass(frozen=True)
class Cell:
    """One row of the pool after one operation.

    state    "none" (the pool is not there yet), "free", "owned", "retiring" (ended, not given back yet), "lost"
             (neither free nor anybody's), "missing" (a seat of the configuration that the pool does not have), or
             "reserve" (the pool's own, no seat).
    owner    the request that owns it, "" for nobody; two that share it, joined by "+".
    dummy    whether padding and warm-up go here; padded: whether padding of this operation's forward did.
    written  whether the content of a row that is somebody's or the dummy's changed in this operation.
    broken   whether a violation names this row, or the seat that is missing.
    """

    state: str
    owner: str = ""
    dummy: bool = False
    padded: bool = False
    written: bool = False
    broken: bool = False


@dataclass(frozen=True)
class Line:
    """One operation: `words` say what happened, `broken` what was found wrong for the first time.

    raised   how the run ended here, "" where it did not: what the engine raised, the cells being what it left
             behind, or a crash or hang, the cells being those before it.
    """

    operation: int
    words: str
    cells: tuple[Cell, ...]
    broken: tuple[str, ...] = ()
    raised: str = ""

    @property
    def wrong(self) -> bool:
        """Whether anything is wrong after this operation."""
        return bool(self.broken or self.raised) or any(cell.broken for cell in self.cells)


@dataclass(frozen=True)
class SlotMap:
    """A pool over time. `rows` are its rows, `seats` how many of them, from the first, requests are promised.

    case   worker, regime, first drafter and order of the case that is drawn, as its results name it.
    word   the cell of the matrix that it belongs to.
    """

    pool: str
    unit: str
    rows: tuple[int, ...]
    seats: int
    lines: tuple[Line, ...]
    case: tuple[str, ...] = ()
    word: str = ""

    def window(self, most: int) -> tuple[Line, ...]:
        """Return at most `most` lines that stand together: the first wrong one, what led to it, what followed."""
        first = next((index for index, line in enumerate(self.lines) if line.wrong), 0)
        start = max(0, min(first - most // 3, len(self.lines) - most))
        return self.lines[start : start + most]

    def columns(self, most: int) -> tuple[int, ...]:
        """Return the indices of at most `most` rows worth showing: those that anything ever happened to, first."""
        idle = {
            index
            for index in range(len(self.rows))
            if all(line.cells[index] in (Cell("none"), Cell("free")) for line in self.lines)
        }
        order = sorted(range(len(self.rows)), key=lambda index: (index in idle, index))
        return tuple(sorted(order[:most]))


def slot_map(trace: Trace, violations: Sequence[Violation]) -> SlotMap | None:
    """Return the map of the pool that the first violation is about, or of the drafter's; None without a pool."""
    shots = list(trace.snapshots) + ([trace.left] if trace.left is not None else [])
    name = _pool_of_interest(shots, violations)
    if name is None:
        return None
    pools = [pool for shot in shots for pool in shot.pools if pool.name == name]
    config = trace.scenario.config
    seats = config.seats * (config.pages_per_seat if pools[0].unit == "page" else 1)
    span = range(pools[0].first, pools[0].first + seats)
    rows = sorted({*span, *(row for pool in pools for row in _known_rows(pool))})
    drawn = _Drawing(name, tuple(rows), span, violations)
    lines = [drawn.line(shot, before, trace) for before, shot in zip([None, *shots], shots, strict=False)]
    if trace.outcome in (Outcome.ERROR, Outcome.CRASH, Outcome.HANG):
        lines = _ended(lines, trace, len(rows))
    return SlotMap(name, pools[0].unit, tuple(rows), seats, tuple(lines))


def _known_rows(pool: Pool) -> set[int]:
    return pool.taken() | set(pool.free) | ({pool.dummy} if pool.dummy is not None else set())


def _pool_of_interest(shots: Sequence[Snapshot], violations: Sequence[Violation]) -> str | None:
    pools = {pool.name: pool for shot in shots for pool in shot.pools}
    for violation in violations:
        named = _pool_named(shots, violation.buffer)
        if named in pools:
            return named
    # The drafter's own pool is shown after the engine's: it is what the harness is about.
    seats = [name for name, pool in pools.items() if pool.unit == "seat"]
    return next(reversed(seats or list(pools)), None)


def _pool_named(shots: Sequence[Snapshot], name: str) -> str:
    """Return the pool that a violation's buffer is, or whose rows it has or names."""
    for shot in shots:
        spaces = {buffer.name: buffer.space for buffer in shot.buffers}
        inputs = {item.name: item.pool for item in shot.graph_inputs if item.pool}
        found = inputs.get(name) or spaces.get(name)
        if found:
            return found
    return name


def _ended(lines: list[Line], trace: Trace, rows: int) -> list[Line]:
    """Say where the run broke off, on the line of what it left behind or on one of its own."""
    at = len(lines) if trace.at is None else trace.at
    detail = f"{trace.outcome.value}: {trace.detail}"
    if lines and lines[-1].operation == at:
        return [*lines[:-1], replace(lines[-1], raised=detail)]
    operations = trace.scenario.operations
    words = told(operations[at]) if 0 <= at < len(operations) else trace.where()
    cells = lines[-1].cells if lines else (Cell("none"),) * rows
    stale = tuple(replace(cell, written=False, padded=False) for cell in cells)
    return [*lines, Line(at, words, stale, (), detail)]


class _Drawing:
    """Draws one pool, line by line, and remembers which findings were told before."""

    def __init__(self, pool: str, rows: tuple[int, ...], span: range, violations: Sequence[Violation]) -> None:
        self._pool, self._rows, self._span = pool, rows, span
        self._violations: dict[int, list[Violation]] = {}
        for violation in violations:
            self._violations.setdefault(violation.operation, []).append(violation)
        self._told: set[str] = set()

    def line(self, shot: Snapshot, before: Snapshot | None, trace: Trace) -> Line:
        """Return the line of one operation."""
        pool = next((pool for pool in shot.pools if pool.name == self._pool), None)
        found = self._violations.get(shot.operation, [])
        broken = self._broken_rows(found, pool, shot)
        written = set() if before is None else _changed_rows(self._pool, before, shot)
        padded = {row for item in shot.graph_inputs if item.pool == self._pool for row in item.tail}
        cells = tuple(self._cell(row, pool, row in broken, row in written, row in padded) for row in self._rows)
        new = {v.signature: f"{v.invariant}: {v.message}" for v in found if v.signature not in self._told}
        self._told |= set(new)
        words = told(trace.scenario.operations[shot.operation], shot)
        return Line(shot.operation, words, cells, tuple(new.values()))

    def _cell(self, row: int, pool: Pool | None, broken: bool, written: bool, padded: bool) -> Cell:
        if pool is None:
            return Cell("none")
        owners = "+".join(request for request, rows in pool.holders().items() if row in rows)
        dummy = row == pool.dummy
        state = self._state(row, pool, owners)
        return Cell(
            state, owners, dummy, padded, written and (bool(owners) or dummy), broken or state == "missing"
        )

    def _state(self, row: int, pool: Pool, owners: str) -> str:
        if owners:
            return "owned"
        if row in pool.retiring:
            return "retiring"
        if row in pool.free:
            return "free"
        if pool.first <= row < pool.first + pool.capacity:
            return "lost"
        return "missing" if row in self._span else "reserve"

    def _broken_rows(self, found: Iterable[Violation], pool: Pool | None, shot: Snapshot) -> set[int]:
        rows = set()
        for violation in found:
            if violation.invariant in _OF_BATCH_ROWS:
                continue
            if violation.row is not None and _pool_named([shot], violation.buffer) == self._pool:
                rows.add(violation.row)
            elif violation.request and pool is not None and not violation.buffer:
                rows |= set(pool.holders().get(violation.request, ()))
        return rows


def _changed_rows(pool: str, before: Snapshot, now: Snapshot) -> set[int]:
    earlier = {buffer.name: buffer for buffer in before.buffers}
    changed: set[int] = set()
    for buffer in now.buffers:
        old = earlier.get(buffer.name)
        if buffer.space == pool and old is not None and len(old.digests) == len(buffer.digests):
            changed |= {row for row, (a, b) in enumerate(zip(old.digests, buffer.digests, strict=True)) if a != b}
    return changed
