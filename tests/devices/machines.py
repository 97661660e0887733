"""Machines that are made up: inventories in memory, and an `nvidia-smi` to put on PATH."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.devices import Device

GIB = 1 << 30


def gpus(count: int, total: int = 80 * GIB) -> tuple[Device, ...]:
    return tuple(
        Device(f"GPU-{letter * 8}", index, "H100", total) for index, letter in enumerate("abcdefgh"[:count])
    )


def cut(gpu: Device, count: int) -> tuple[Device, ...]:
    """A GPU followed by its MIG instances."""
    return (gpu, *(Device(f"MIG-{gpu.uuid[4:]}-{n}", gpu.index, "H100 MIG", GIB, gpu.uuid) for n in range(count)))


class Machine:
    """An inventory whose free memory a test sets; `looks` counts how often it was asked."""

    def __init__(self, *devices: Device) -> None:
        self._devices = devices
        self.free: dict[str, int | None] = {device.uuid: device.total for device in devices}
        self.looks = 0

    def devices(self) -> tuple[Device, ...]:
        return self._devices

    def free_bytes(self, uuid: str) -> int | None:
        self.looks += 1
        return self.free[uuid]


class Time:
    """A clock that only pauses move; `at` is called with the seconds after each."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.at: Callable[[float], object] = lambda seconds: None

    def now(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.seconds += seconds
        self.at(self.seconds)


_SMI = """#!/bin/sh
case "$1" in
-L) cat '{folder}/listing' ;;
--query-gpu=uuid,memory.total) cat '{folder}/total' ;;
--query-gpu=uuid,memory.free) cat '{folder}/free' ;;
*) exit 2 ;;
esac
"""


def lay_smi(folder: Path, count: int, free_mib: int = 80_000) -> str:
    """Lay an `nvidia-smi` for `count` GPUs and return the PATH with it in front. `folder/free` is its memory."""
    folder.mkdir(exist_ok=True)
    names = [device.uuid for device in gpus(count)]
    (folder / "listing").write_text("".join(f"GPU {n}: H100 (UUID: {uuid})\n" for n, uuid in enumerate(names)))
    (folder / "total").write_text("".join(f"{uuid}, 81559\n" for uuid in names))
    (folder / "free").write_text("".join(f"{uuid}, {free_mib}\n" for uuid in names))
    script = folder / "nvidia-smi"
    script.write_text(_SMI.format(folder=folder))
    script.chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])
