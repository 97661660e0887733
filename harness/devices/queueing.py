"""Who gets which devices next: a pure function of who waits and what is free."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Ticket", "grant"]


@dataclass(frozen=True)
class Ticket:
    """One case that waits. Lower numbers came first; `candidates` are uuids, the preferred ones first."""

    number: int
    count: int
    candidates: tuple[str, ...]
    test: str = ""
    pid: int = 0


def grant(
    tickets: Sequence[Ticket], free: Collection[str], conflicts: Mapping[str, frozenset[str]]
) -> dict[int, tuple[str, ...]]:
    """Return for each ticket number that can be served now the uuids it gets: all that it asks for, or none.

    First come, first served, and what an earlier ticket could use is kept for it while it waits for the rest:
    a case that wants two devices gets the first two that are returned, however many want one. Devices that no
    earlier ticket can use go to later ones at once.
    """
    available = set(free)
    granted: dict[int, tuple[str, ...]] = {}
    for ticket in sorted(tickets, key=lambda ticket: ticket.number):
        taken = _first(ticket, available, conflicts)
        if len(taken) == ticket.count:
            granted[ticket.number] = taken
        # A GPU comes free only once all its instances are: one that is waited for keeps those too.
        for uuid in granted.get(ticket.number, ticket.candidates):
            available -= {uuid, *conflicts.get(uuid, ())}
    return granted


def _first(ticket: Ticket, available: set[str], conflicts: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    taken: list[str] = []
    for uuid in ticket.candidates:
        if len(taken) < ticket.count and uuid in available and not conflicts.get(uuid, frozenset()) & set(taken):
            taken.append(uuid)
    return tuple(taken)
