"""The inventory of NVML, the driver's own library, through nvidia-ml-py."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from harness.devices.model import Device

__all__ = ["Nvml"]


class Nvml:
    """Asks the driver. It keeps NVML open: opening costs tens of milliseconds, asking microseconds.

    Raises `ImportError` without nvidia-ml-py and `pynvml.NVMLError` without a driver.
    """

    def __init__(self) -> None:
        self._nvml: Any = importlib.import_module("pynvml")  # it has no annotations
        self._nvml.nvmlInit()
        self._handles: dict[str, Any] = {}

    def devices(self) -> tuple[Device, ...]:
        """Return all devices that the driver shows to this process."""
        found: list[Device] = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
            gpu = self._device(handle, index)
            found += [gpu, *(self._device(part, index, gpu) for part in self._instances(handle))]
        return tuple(found)

    def free_bytes(self, uuid: str) -> int | None:
        """Return a device's free memory in bytes; None for one that is gone or does not answer."""
        try:
            if uuid not in self._handles:
                self.devices()
            handle = self._handles.get(uuid)
            return None if handle is None else int(self._nvml.nvmlDeviceGetMemoryInfo(handle).free)
        except self._nvml.NVMLError:
            return None

    def _device(self, handle: Any, index: int, gpu: Device | None = None) -> Device:
        uuid = str(self._nvml.nvmlDeviceGetUUID(handle))
        self._handles[uuid] = handle
        total = int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total)
        return Device(uuid, index, str(self._nvml.nvmlDeviceGetName(handle)), total, gpu.uuid if gpu else "")

    def _instances(self, handle: Any) -> Iterator[Any]:
        try:
            slots = self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)
        except self._nvml.NVMLError:  # a GPU that knows no MIG
            return
        for slot in range(slots):
            with contextlib.suppress(self._nvml.NVMLError):  # MIG is off, or the slot is empty
                yield self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
