"""The inventory of `nvidia-smi`, for machines without nvidia-ml-py."""

from __future__ import annotations

import re
import subprocess

from harness.devices.model import Device

__all__ = ["Smi", "SmiError", "parse_listing"]

_SECONDS = 30.0  # a driver that wakes a sleeping GPU takes several; one that hangs, forever
_MIB = 1 << 20
_GPU = re.compile(r"^GPU (\d+): (.*) \(UUID: (GPU-[^)]+)\)")
_INSTANCE = re.compile(r"^\s+MIG (.*?)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)")


class SmiError(Exception):
    """nvidia-smi is there and does not answer, or not in words that are known."""


class Smi:
    """Asks `nvidia-smi`, at `command`, for every fact. It knows no memory of MIG instances."""

    def __init__(self, command: str) -> None:
        self._command = command

    def devices(self) -> tuple[Device, ...]:
        """Return all devices. Raises `SmiError`."""
        totals = self._memory("memory.total")
        return parse_listing(self._ask("-L"), totals)

    def free_bytes(self, uuid: str) -> int | None:
        """Return a GPU's free memory in bytes; None for a MIG instance, or where there is no answer."""
        try:
            return self._memory("memory.free").get(uuid)
        except SmiError:
            return None

    def _memory(self, field: str) -> dict[str, int]:
        lines = self._ask(f"--query-gpu=uuid,{field}", "--format=csv,noheader,nounits").splitlines()
        pairs = [line.rpartition(",")[::2] for line in lines]
        # "[N/A]" is how it says that it does not know; that there is no device it says in a sentence
        return {uuid.strip(): int(number) * _MIB for uuid, number in pairs if number.strip().isdigit()}

    def _ask(self, *arguments: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603  # a program found on PATH, a list of arguments, no shell
                [self._command, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SmiError(f"{self._command}: {error}") from None
        return done.stdout


def parse_listing(listing: str, totals: dict[str, int]) -> tuple[Device, ...]:
    """Read what `nvidia-smi -L` prints; `totals` has the GPUs' memory in bytes."""
    devices: list[Device] = []
    gpu = None
    for line in listing.splitlines():
        if found := _GPU.match(line):
            index, name, uuid = found.groups()
            gpu = Device(uuid, int(index), name, totals.get(uuid, 0))
            devices.append(gpu)
        elif gpu and (found := _INSTANCE.match(line)):
            profile, uuid = found.groups()
            devices.append(Device(uuid, gpu.index, f"{gpu.name} MIG {profile}", parent=gpu.uuid))
    return tuple(devices)
