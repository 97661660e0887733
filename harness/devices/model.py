"""What a device is, and who knows which ones there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from harness.errors import HarnessError

__all__ = ["Device", "DeviceError", "Inventory", "NoDevices", "conflicts"]


class DeviceError(HarnessError):
    """A device cannot be leased as asked. It says nothing about the code under test."""


@dataclass(frozen=True)
class Device:
    """A GPU, or a MIG instance, which is a device of its own.

    uuid    what CUDA_VISIBLE_DEVICES takes: `GPU-…` or `MIG-…`.
    index   the GPU's number in PCI bus order; an instance has its GPU's.
    total   bytes of memory; 0 where nobody says.
    parent  the uuid of the GPU that an instance is part of; empty for a GPU.
    """

    uuid: str
    index: int
    name: str = ""
    total: int = 0
    parent: str = ""


class Inventory(Protocol):
    """Says which devices this machine has. One module an implementation; a fake one serves tests."""

    def devices(self) -> tuple[Device, ...]:
        """Return all devices, GPUs in PCI bus order, each followed by its MIG instances."""

    def free_bytes(self, uuid: str) -> int | None:
        """Return a device's free memory in bytes; None where nobody says."""


class NoDevices:
    """The inventory of a machine without GPUs, or without a driver that answers."""

    def devices(self) -> tuple[Device, ...]:
        """Return nothing."""
        return ()

    def free_bytes(self, uuid: str) -> int | None:
        """Return None: nobody says."""
        del uuid
        return None


def conflicts(devices: Iterable[Device]) -> dict[str, frozenset[str]]:
    """Return for each uuid the other uuids that name part of the same memory: a GPU's instances, its GPU."""
    found: dict[str, set[str]] = {}
    for device in devices:
        found.setdefault(device.uuid, set())
        if device.parent:
            found[device.uuid].add(device.parent)
            found.setdefault(device.parent, set()).add(device.uuid)
    return {uuid: frozenset(others) for uuid, others in found.items()}
