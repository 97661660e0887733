"""The bookkeeping of one pool: which request owns which row, and which rows are free."""

from __future__ import annotations

from collections import deque

from harness.trace import Event, EventKind, Pool

__all__ = ["NoFreeSlotError", "NotOwnedError", "SlotPool"]


class NoFreeSlotError(RuntimeError):
    """Every row of a pool is owned. In a legal scenario this means that the pool is too small."""


class NotOwnedError(RuntimeError):
    """A row was given back that its request does not hold: never, or not any more."""


class SlotPool:
    """Rows 0..capacity-1 may be owned, first free first; the dummy row stands behind them.

    A row is given back at once (`release`), or with the next batch (`retire`, then `reclaim`); until then it is
    nobody's, though the pool still knows whose it was. A retired request's name may own another row meanwhile.
    """

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.dummy = capacity
        self._free = deque(range(capacity))
        self._owners: dict[str, int] = {}
        self._retiring: list[tuple[str, int]] = []
        self._generations = [0] * capacity
        self._events: list[Event] = []

    @property
    def rows(self) -> int:
        """Rows that a buffer of this pool has: the ownable ones and the dummy."""
        return self.capacity + 1

    @property
    def owners(self) -> tuple[str, ...]:
        """Requests that own a row, longest owner first."""
        return tuple(self._owners)

    @property
    def retiring(self) -> int:
        """How many rows were given back and are not free yet."""
        return len(self._retiring)

    def acquire(self, request: str) -> int:
        """Give `request` a row. Raises `NoFreeSlotError` and changes nothing when all are owned."""
        if not self._free:
            self._events.append(Event(EventKind.REFUSE, self.name, request))
            raise NoFreeSlotError(f"no free row in pool {self.name!r} ({self.capacity} rows) for {request!r}")
        row = self._free.popleft()
        self._owners[request] = row
        self._generations[row] += 1
        self._events.append(Event(EventKind.ACQUIRE, self.name, request, row))
        return row

    def release(self, request: str) -> None:
        """Take the row of `request` back; it is the last to be handed out again. Raises `NotOwnedError`."""
        row = self._owners.pop(request, None)
        if row is None:
            row = self._unretire(request)
        self._give_back(request, row)

    def _give_back(self, request: str, row: int) -> None:
        self._free.append(row)
        self._events.append(Event(EventKind.RELEASE, self.name, request, row))

    def retire(self, request: str) -> None:
        """Take the row of `request` back, but hand it out to nobody yet."""
        if request in self._owners:
            self._retiring.append((request, self._owners.pop(request)))

    def reclaim(self) -> None:
        """Hand retired rows out again from now on."""
        for request, row in sorted(self._retiring):
            self._give_back(request, row)
        self._retiring.clear()

    def revive(self, request: str) -> None:
        """Take a retirement back."""
        self._owners[request] = self._unretire(request)

    def _unretire(self, request: str) -> int:
        for index, (name, row) in enumerate(self._retiring):
            if name == request:
                del self._retiring[index]
                return row
        raise NotOwnedError(f"{request!r} holds no row of pool {self.name!r}")

    def owned(self, request: str) -> int | None:
        """Return the row that `request` owns, None if there is none. Row 0 is one like any other."""
        return self._owners.get(request)

    def row(self, request: str) -> int | None:
        """Return the row that `request` owns or owned until it retired, None if there is none."""
        row = self._owners.get(request)
        return row if row is not None else next((row for name, row in self._retiring if name == request), None)

    def generation(self, row: int) -> int:
        """Return how often `row` was given to somebody: with the row, the identity of its present holder."""
        return self._generations[row]

    def view(self, dummy_position: int | None = None) -> Pool:
        """Return the present partition as plain data."""
        return Pool(
            self.name, self.capacity, self.dummy, dict(self._owners), tuple(self._free),
            tuple(row for _, row in self._retiring), dummy_position, generations=tuple(self._generations),
        )  # fmt: skip

    def take_events(self) -> tuple[Event, ...]:
        """Return what happened since the last call."""
        events, self._events = tuple(self._events), []
        return events
