"""The queue for devices, as files that all processes of the machine share."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone

from harness.devices.locks import LockFolder
from harness.devices.model import Device, conflicts
from harness.devices.queueing import Ticket, grant
from harness.devices.records import Record, read_record

__all__ = ["Queue"]

_TICKET = "ticket-"


class Queue:
    """Hands out devices to tickets by `grant`.

    A ticket is a file that its owner holds locked while it waits, a device a file that its owner holds locked
    while it uses it: the kernel drops both with the process. All that is decided is decided in `exclusively`, so
    nobody ever waits for a device while holding another, and no order of locking can end in a deadlock.
    """

    def __init__(self, locks: LockFolder, machine: Sequence[Device]) -> None:
        self._locks = locks
        self._machine = [device.uuid for device in machine]
        self._conflicts = conflicts(machine)
        self._waiting: set[int] = set()  # numbers are used again: what was served is no longer ours to remove

    def join(self, count: int, candidates: Sequence[str], test: str) -> Ticket:
        """Stand at the end of the queue for `count` of the `candidates`."""
        with self._locks.exclusively():
            waiting = self._tickets()
            number = 1 + max((ticket.number for ticket in waiting), default=0)
            ticket = Ticket(number, count, tuple(candidates), test, os.getpid())
            assert self._locks.take(_name(ticket)), "a number that nobody had"
            self._locks.write(_name(ticket), json.dumps(asdict(ticket)))
            self._waiting.add(number)
            return ticket

    def take(self, ticket: Ticket) -> dict[str, str]:
        """Lock what the ticket is granted now and leave the queue; empty when it must wait.

        Returns for each device the test that had it before: its record now names this one.
        """
        with self._locks.exclusively():
            free = {uuid for uuid in self._machine if not self._locks.is_held(_file(uuid))}
            busy = set(self._machine) - free
            free -= {other for uuid in busy for other in self._conflicts[uuid]}
            granted = grant(self._tickets(), free, self._conflicts).get(ticket.number, ())
            before = {uuid: self._lock(uuid, ticket) for uuid in sorted(granted)}
            if granted:
                self._remove(ticket)
            return before

    def _lock(self, uuid: str, ticket: Ticket) -> str:
        assert self._locks.take(_file(uuid)), "it was free, and nobody else decides now"
        before = self.record(uuid)
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.note(uuid, replace(before, test=ticket.test, pid=ticket.pid, since=since))
        return before.test

    def leave(self, ticket: Ticket) -> None:
        """Leave the queue, served or not."""
        with self._locks.exclusively():
            if ticket.number in self._waiting:
                self._remove(ticket)

    def _remove(self, ticket: Ticket) -> None:
        self._locks.remove(_name(ticket))
        self._waiting.discard(ticket.number)

    def record(self, uuid: str) -> Record:
        """Return what is written about a device."""
        return read_record(self._locks.read(_file(uuid)))

    def note(self, uuid: str, record: Record) -> None:
        """Write about a device that this process holds."""
        self._locks.write(_file(uuid), record.dumps())

    def release(self, uuids: Sequence[str]) -> None:
        """Give devices back."""
        for uuid in uuids:
            self._locks.drop(_file(uuid))

    def holders(self) -> dict[str, Record]:
        """Return the devices that are held, with who holds them."""
        with self._locks.exclusively():
            held = [uuid for uuid in self._machine if self._locks.is_held(_file(uuid))]
            return {uuid: self.record(uuid) for uuid in held}

    def _tickets(self) -> list[Ticket]:
        """Return who waits; the tickets of those that died go."""
        waiting = []
        for name in self._locks.names(_TICKET):
            if not self._locks.is_held(name):
                self._locks.remove(name)
                continue
            values = json.loads(self._locks.read(name))
            waiting.append(Ticket(**{**values, "candidates": tuple(values["candidates"])}))
        return waiting


def _name(ticket: Ticket) -> str:
    return f"{_TICKET}{ticket.number:08d}"


def _file(uuid: str) -> str:
    # Old MIG ids hold slashes: MIG-GPU-…/1/0
    return uuid.replace("/", "_") + ".lock"
