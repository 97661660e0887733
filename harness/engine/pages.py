"""Pages of the target's context: who holds which, and how many a length needs."""

from __future__ import annotations

from collections import deque

from harness.engine.slots import NoFreeSlotError, NotOwnedError
from harness.scenario import Config
from harness.trace import Event, EventKind, Pool

__all__ = ["PagePool", "null_page", "page_capacity", "pages_needed"]


def page_capacity(config: Config) -> int:
    """Pages of the pool: enough for the longest context in every seat, so an admitted request finds its own."""
    return config.seats * config.pages_per_seat


def pages_needed(tokens: int, page_size: int) -> int:
    """Pages that `tokens` tokens of one request lie in, those of drafts that may be rejected included."""
    return -(-tokens // page_size)


def null_page(pool: PagePool) -> int:
    """What a table holds where no page is: a page that nobody can hold, behind the pool."""
    return pool.dummy


class PagePool:
    """Pages 0..capacity-1 may be held, several a request in the order of its context; the null page is behind.

    Like `SlotPool`, with pages in place of the one row.
    """

    def __init__(self, capacity: int) -> None:
        self.name = "pages"
        self.capacity = capacity
        self.dummy = capacity
        self._free = deque(range(capacity))
        self._held: dict[str, list[int]] = {}
        self._retiring: list[tuple[str, list[int]]] = []
        self._generations = [0] * capacity
        self._events: list[Event] = []

    def acquire(self, request: str, count: int) -> list[int]:
        """Give `request` that many pages more. Raises `NoFreeSlotError` and gives none if there are fewer."""
        if count > len(self._free):
            self._events.append(Event(EventKind.REFUSE, self.name, request))
            raise NoFreeSlotError(f"{len(self._free)} free pages of {self.capacity} for {count} of {request!r}")
        pages = [self._free.popleft() for _ in range(count)]
        for page in pages:
            self._generations[page] += 1
            self._events.append(Event(EventKind.ACQUIRE, self.name, request, page))
        self._held.setdefault(request, []).extend(pages)
        return pages

    def held(self, request: str) -> int:
        """Return how many pages `request` holds."""
        return len(self._held.get(request, ()))

    def release(self, request: str) -> None:
        """Take all pages of `request` back. Raises `NotOwnedError` if it has none to give."""
        if request not in self._held:
            raise NotOwnedError(f"{request!r} holds no pages")
        self._give_back(request, self._held.pop(request))

    def retire(self, request: str) -> None:
        """Take all pages of `request` back, but hand them out to nobody yet."""
        self._retiring.append((request, self._held.pop(request)))

    def reclaim(self) -> None:
        """Hand retired pages out again from now on."""
        for request, pages in self._retiring:
            self._give_back(request, pages)
        self._retiring.clear()

    def _give_back(self, request: str, pages: list[int]) -> None:
        self._free.extend(pages)
        self._events += [Event(EventKind.RELEASE, self.name, request, page) for page in pages]

    def view(self) -> Pool:
        """Return the present partition as plain data."""
        return Pool(
            self.name, self.capacity, self.dummy, {}, tuple(self._free),
            tuple(page for _, pages in self._retiring for page in pages), unit="page",
            holdings={request: tuple(pages) for request, pages in self._held.items()},
            generations=tuple(self._generations),
        )  # fmt: skip

    def take_events(self) -> tuple[Event, ...]:
        """Return what happened since the last call."""
        events, self._events = tuple(self._events), []
        return events
