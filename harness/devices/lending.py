"""Leases: all the devices that a case asks for, or none yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.devices.clock import Clock
from harness.devices.locks import LockFolder
from harness.devices.memory import await_baseline, note_resident
from harness.devices.model import Device, DeviceError, Inventory
from harness.devices.process import allocated_bytes, process_name, tidy, uses_cuda
from harness.devices.queue import Queue
from harness.devices.queueing import Ticket
from harness.devices.records import Leak
from harness.devices.visible import VARIABLE, visible_devices

__all__ = ["Lease", "Lender"]

_INHERITED = "HARNESS_LEASE"  # "PID UUID,UUID": the devices that this process's ancestor leased for it
_EVERY = 0.05  # seconds between two looks at what is free


@dataclass(frozen=True)
class Lease:
    """Devices that are this process's own until `end` is called. `leaks`: what cases before it left on them."""

    devices: tuple[Device, ...]
    leaks: tuple[Leak, ...]
    end: Callable[[], None]

    @property
    def environment(self) -> dict[str, str]:
        """What the processes of the case must find in their environment."""
        uuids = ",".join(device.uuid for device in self.devices)
        return {VARIABLE: uuids, _INHERITED: f"{os.getpid()} {uuids}"}


class Lender:
    """Leases the devices of this machine that an outer CUDA_VISIBLE_DEVICES leaves. One a process.

    It prefers the devices that it leased last. Once torch has initialised CUDA in this very process, the process
    can only ever use the devices it then had, in their order, and leases no others. A process that an ancestor
    started under its own lease leases from those devices, without any lock.

    memory_limit  seconds that a lease waits for a device's memory to come back.
    """

    def __init__(
        self,
        inventory: Inventory,
        locks: LockFolder,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        memory_limit: float = 30.0,
    ) -> None:
        self._inventory, self._clock, self._memory_limit = inventory, clock or Clock(), memory_limit
        machine = inventory.devices()
        self.visible = visible_devices(machine, environment)
        self._named = environment.get(VARIABLE)
        self._queue = Queue(locks, machine)
        self._inherits = self._is_inherited(environment.get(_INHERITED, ""))
        self._last: tuple[Device, ...] = self.visible
        self._bound: tuple[Device, ...] | None = None

    def _is_inherited(self, words: str) -> bool:
        pid, _, uuids = words.partition(" ")
        holders = self._queue.holders() if uuids else {}
        mine = {uuid for uuid, record in holders.items() if str(record.pid) == pid}
        return bool(self.visible) and {device.uuid for device in self.visible} <= mine & set(uuids.split(","))

    def shortage(self, count: int) -> str:
        """Return why a case that needs `count` devices can never run here; empty where it can."""
        there = len(self._suitable(count))
        if count <= there:
            return ""
        outer = "" if self._named is None else f" with {VARIABLE}={self._named!r}"
        return f"needs {_gpus(count)}, and {_gpus(there)} can be used here{outer}"

    def _suitable(self, count: int) -> tuple[Device, ...]:
        # CUDA shows a process one MIG instance at most: several devices are several whole GPUs.
        return tuple(device for device in self.visible if count == 1 or not device.parent)

    def lease(self, count: int, test: str, limit: float) -> Lease:
        """Wait until `count` devices are free and have their memory back.

        Raises `DeviceError` after `limit` seconds without them, and where they can never be leased.
        """
        ticket = self.join(count, test)
        try:
            for _ in self._clock.looks(limit, _EVERY):
                lease = self.take(ticket)
                if lease is not None:
                    return lease
        finally:
            self.leave(ticket)
        held = [
            f"{uuid} by {record.test} (process {record.pid})" for uuid, record in self._queue.holders().items()
        ]
        raise DeviceError(
            f"{_gpus(count)} did not come free within {limit:g} s; held: {', '.join(held) or 'none'}"
        )

    def join(self, count: int, test: str) -> Ticket:
        """Queue up for `count` devices. Raises `DeviceError` where they can never be leased."""
        if reason := self.shortage(count):
            raise DeviceError(reason)
        if self._bound is None and uses_cuda():
            self._bound = self.visible
        if self._bound is None:
            suitable = self._suitable(count)
            candidates = sorted(suitable, key=lambda device: device not in self._last)
        else:
            candidates = list(self._bound[:count])
        if len(candidates) < count:
            raise DeviceError(
                f"needs {_gpus(count)}, and this process has initialised CUDA on {len(candidates)}, which it "
                "cannot change any more: run the test in a process of its own"
            )
        return self._queue.join(count, [device.uuid for device in candidates], test)

    def take(self, ticket: Ticket) -> Lease | None:
        """Return the lease that a ticket is granted now, None while it must wait in the queue."""
        if self._inherits:
            return Lease(self.visible[: ticket.count], (), lambda: None)
        before = self._queue.take(ticket)
        if not before:
            return None
        devices = tuple(device for device in self.visible if device.uuid in before)
        try:
            leaks = [self._settle(device, before[device.uuid]) for device in devices]
        except BaseException:  # somebody lost patience while memory was awaited
            self._queue.release(list(before))
            raise
        self._last = devices
        return Lease(devices, tuple(leak for leak in leaks if leak), lambda: self._end(devices))

    def leave(self, ticket: Ticket) -> None:
        """Stop waiting; nothing happens to a ticket that was served."""
        self._queue.leave(ticket)

    def _settle(self, device: Device, before: str) -> Leak | None:
        record, leak = await_baseline(
            device,
            self._queue.record(device.uuid),
            before,
            lambda: self._inventory.free_bytes(device.uuid),
            self._clock,
            self._memory_limit,
        )
        self._queue.note(device.uuid, record)
        return leak

    def _end(self, devices: tuple[Device, ...]) -> None:
        if uses_cuda():
            self._bound = self._bound or devices
            tidy()
            for device in devices:
                self._note_resident(device, self._bound.index(device))
        self._queue.release([device.uuid for device in devices])

    def _note_resident(self, device: Device, index: int) -> None:
        free = self._inventory.free_bytes(device.uuid)
        if free is not None:
            record = self._queue.record(device.uuid)
            own = note_resident(record, process_name(os.getpid()), free, allocated_bytes(index))
            self._queue.note(device.uuid, own)


def _gpus(count: int) -> str:
    return "no GPU" if count == 0 else f"{count} GPU{'' if count == 1 else 's'}"
