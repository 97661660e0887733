"""Which inventory this machine has."""

from __future__ import annotations

import shutil

from harness.devices.model import Inventory, NoDevices
from harness.devices.nvml import Nvml
from harness.devices.smi import Smi, SmiError

__all__ = ["detect_inventory"]


def detect_inventory() -> Inventory:
    """Return NVML's inventory, else that of `nvidia-smi`, else one without devices."""
    try:
        return Nvml()
    except Exception:  # noqa: S110  # no package, no driver, or one that does not match: ask the next
        pass
    command = shutil.which("nvidia-smi")
    if command is None:
        return NoDevices()
    inventory = Smi(command)
    try:
        inventory.devices()
    except SmiError:  # a machine whose driver does not answer can run nothing on its GPUs
        return NoDevices()
    return inventory
