"""Both readers of a machine's devices, on made-up machines; none of them answers with half of the truth."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from machines import lay_smi

from harness.devices import Device, NoDevices, detect_inventory
from harness.devices.smi import parse_listing

LISTING = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a0a)
  MIG 1g.10gb     Device  0: (UUID: MIG-aaaa-1)
  MIG 3g.40gb     Device  1: (UUID: MIG-aaaa-2)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0b0b)
"""


def test_a_listing_gives_gpus_each_followed_by_its_instances() -> None:
    assert parse_listing(LISTING, {"GPU-0b0b": 5}) == (
        Device("GPU-0a0a", 0, "NVIDIA H100 80GB HBM3"),
        Device("MIG-aaaa-1", 0, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", parent="GPU-0a0a"),
        Device("MIG-aaaa-2", 0, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", parent="GPU-0a0a"),
        Device("GPU-0b0b", 1, "NVIDIA H100 80GB HBM3", 5),
    )


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.mark.usefixtures("no_nvml")
def test_without_the_drivers_library_nvidia_smi_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", lay_smi(tmp_path / "smi", 2))
    inventory = detect_inventory()
    assert [(device.uuid, device.total) for device in inventory.devices()] == [
        ("GPU-aaaaaaaa", 81559 << 20),
        ("GPU-bbbbbbbb", 81559 << 20),
    ]
    assert inventory.free_bytes("GPU-bbbbbbbb") == 80_000 << 20
    assert inventory.free_bytes("MIG-aaaa-1") is None
    (tmp_path / "smi" / "nvidia-smi").unlink()
    assert inventory.free_bytes("GPU-bbbbbbbb") is None, "an answer that does not come is no number"


@pytest.mark.usefixtures("no_nvml")
@pytest.mark.parametrize("script", ["exit 9", "echo 'no devices were found'", None])
def test_a_driver_that_does_not_answer_leaves_no_devices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None
) -> None:
    if script is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert detect_inventory().devices() == NoDevices().devices() == ()


class NVMLError(Exception):
    pass


class Driver(types.ModuleType):
    """Two GPUs, the second cut into one instance in its slot 1; `broken` lets every question for memory fail."""

    NVMLError = NVMLError

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.broken = False

    def nvmlInit(self) -> None:  # noqa: N802  # NVML's own names
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"GPU-{index}"

    def nvmlDeviceGetUUID(self, handle: str) -> str:  # noqa: N802
        return handle

    def nvmlDeviceGetName(self, handle: str) -> str:  # noqa: N802
        return f"name of {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> types.SimpleNamespace:  # noqa: N802
        if self.broken:
            raise NVMLError
        return types.SimpleNamespace(total=100, free=10 if handle.startswith("MIG") else 90)

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: str) -> int:  # noqa: N802
        if handle == "GPU-0":
            raise NVMLError
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: str, slot: int) -> str:  # noqa: N802
        if slot != 1:
            raise NVMLError
        return f"MIG-of-{handle}"


def test_the_drivers_library_is_asked_first_and_knows_the_memory_of_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    inventory = detect_inventory()
    assert inventory.devices() == (
        Device("GPU-0", 0, "name of GPU-0", 100),
        Device("GPU-1", 1, "name of GPU-1", 100),
        Device("MIG-of-GPU-1", 1, "name of MIG-of-GPU-1", 100, "GPU-1"),
    )
    assert inventory.free_bytes("MIG-of-GPU-1") == 10
    assert inventory.free_bytes("GPU-0") == 90
    assert inventory.free_bytes("GPU-9") is None
    driver.broken = True
    assert inventory.free_bytes("GPU-0") is None
