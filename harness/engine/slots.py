"""The bookkeeping of one pool: which request owns which row, and which rows are free."""

from __future__ import annotations

from collections import deque

from harness.trace import Event, EventKind, Pool

__all__ = ["NoFreeSlotError", "SlotPool"]


class NoFreeSlotError(RuntimeError):
    """Every row of a pool is owned. In a legal scenario this means that the pool is too small."""


class SlotPool:
    """Rows 0..capacity-1 may be owned, first free first; the dummy row stands behind them.

    A row is given back at once (`release`), or with the next batch (`retire`, then `reclaim`); until then it is
    nobody's, though the pool still knows whose it was.
    """

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.dummy = capacity
        self._free = deque(range(capacity))
        self._owners: dict[str, int] = {}
        self._retiring: set[str] = set()
        self._events: list[Event] = []

    @property
    def rows(self) -> int:
        """Rows that a buffer of this pool has: the ownable ones and the dummy."""
        return self.capacity + 1

    @property
    def owners(self) -> tuple[str, ...]:
        """Requests that own a row, longest owner first."""
        return tuple(self._owners)

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
        self._retiring.discard(request)
        self._free.append(row)
        self._events.append(Event(EventKind.RELEASE, self.name, request, row))

    def retire(self, request: str) -> None:
        """Take the row of `request` back, but hand it out to nobody yet."""
        self._retiring.add(request)

    def reclaim(self) -> None:
        """Hand retired rows out again from now on."""
        for request in sorted(self._retiring):
            self.release(request)

    def revive(self, request: str) -> None:
        """Take a retirement back."""
        self._retiring.discard(request)

    def row(self, request: str) -> int | None:
        """Return the row that `request` owns or owned until it retired, None if there is none."""
        return self._owners.get(request)

    def view(self, dummy_position: int | None = None) -> Pool:
        """Return the present partition as plain data."""
        owners = {request: row for request, row in self._owners.items() if request not in self._retiring}
        retiring = tuple(row for request, row in self._owners.items() if request in self._retiring)
        return Pool(self.name, self.capacity, self.dummy, owners, tuple(self._free), retiring, dummy_position)

    def take_events(self) -> tuple[Event, ...]:
        """Return what happened since the last call."""
        events, self._events = tuple(self._events), []
        return events
