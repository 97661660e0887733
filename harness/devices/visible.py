"""What an outer CUDA_VISIBLE_DEVICES leaves of a machine's devices, by CUDA's own rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from harness.devices.model import Device, DeviceError

__all__ = ["VARIABLE", "visible_devices"]

VARIABLE = "CUDA_VISIBLE_DEVICES"
_UUIDS = ("GPU-", "MIG-")  # how they begin


def visible_devices(devices: Sequence[Device], environment: Mapping[str, str] = os.environ) -> tuple[Device, ...]:
    """Return the devices that CUDA would show under `environment`, in its order.

    Indices count GPUs in PCI bus order; uuids may be shortened as long as they fit one device. As in CUDA, what
    follows the first entry that names nothing is not visible, nor is an index behind a uuid. An empty variable
    hides everything, and so does a device that is named twice. Without the variable all GPUs are visible, and of
    a GPU that is cut into MIG instances these instead. A GPU that is named although it has instances is meant
    whole.

    Raises `DeviceError` for indices on a machine whose GPUs differ: CUDA then counts the fastest first.
    """
    named = environment.get(VARIABLE)
    if named is None:
        cut = {device.parent for device in devices}
        return tuple(device for device in devices if device.uuid not in cut)
    found: list[Device] = []
    words = [part.strip() for part in named.split(",")]
    by_uuid = words[0].startswith(_UUIDS)
    for word in words:
        by_index = word.isdigit() and not by_uuid
        device = _index(devices, word, environment) if by_index else _prefix(devices, word)
        if device is None:
            break
        found.append(device)
    return tuple(found) if len(set(found)) == len(found) else ()


def _index(devices: Sequence[Device], word: str, environment: Mapping[str, str]) -> Device | None:
    gpus = {device.index: device for device in devices if not device.parent}
    kinds = {device.name for device in gpus.values()}
    if len(kinds) > 1 and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        raise DeviceError(
            f"{VARIABLE} has the index {word} and the GPUs differ ({', '.join(sorted(kinds))}), so CUDA counts "
            "the fastest first: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by uuid"
        )
    return gpus.get(int(word))


def _prefix(devices: Sequence[Device], word: str) -> Device | None:
    if not word.startswith(_UUIDS):
        return None
    fitting = [device for device in devices if device.uuid.startswith(word)]
    exact = [device for device in fitting if device.uuid == word]
    chosen = exact or fitting
    return chosen[0] if len(chosen) == 1 else None
