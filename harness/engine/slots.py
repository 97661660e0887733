"""The bookkeeping of one pool: which request owns which row, and which rows are free."""

from __future__ import annotations

from collections import deque

from harness.trace import Event, EventKind, Pool

__all__ = ["NoFreeSlotError", "SlotPool"]


class NoFreeSlotError(RuntimeError):
    """Every row of a pool is owned. In a legal scenario this means that the pool is too small."""


class SlotPool:
    """Rows 0..capacity-1 may be owned, first free first; the dummy row stands behind them."""

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.dummy = capacity
        self._free = deque(range(capacity))
        self._owners: dict[str, int] = {}
        self._events: list[Event] = []

    @property
    def rows(self) -> int:
        """Rows that a buffer of this pool has: the ownable ones and the dummy."""
        return self.capacity + 1

    def acquire(self, request: str) -> int:
        """Give `request` a row. Raises `NoFreeSlotError` and changes nothing when all are owned."""
        if not self._free:
            self._events.append(Event(EventKind.REFUSE, self.name, request))
            raise NoFreeSlotError(f"no free row in pool {self.name!r} ({self.capacity} rows) for {request!r}")
        row = self._free.popleft()
        self._owners[request] = row
        self._events.append(Event(EventKind.ACQUIRE, self.name, request, row))
        return row

    def release(self, request: str) -> None:
        """Take the row of `request` back; it is the last to be handed out again."""
        row = self._owners.pop(request)
        self._free.append(row)
        self._events.append(Event(EventKind.RELEASE, self.name, request, row))

    def row(self, request: str) -> int:
        """Return the row that `request` owns."""
        return self._owners[request]

    def view(self) -> Pool:
        """Return the present partition as plain data."""
        return Pool(self.name, self.capacity, self.dummy, dict(self._owners), tuple(self._free))

    def take_events(self) -> tuple[Event, ...]:
        """Return what happened since the last call."""
        events, self._events = tuple(self._events), []
        return events
