"""Where tests use CUDA in the pytest process itself: its devices stay, its context is no leak, its tensors are."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from machines import GIB, Machine, Time, gpus

from harness.devices import Clock, DeviceError, Lease, Lender, LockFolder

CONTEXT = GIB // 2


class Torch:
    """Stands for torch in `sys.modules`: a context and tensors on the first device that it saw."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.tensors, self.cached, self.on = machine, 0, 0, ""
        self.cuda = SimpleNamespace(
            is_initialized=lambda: bool(self.on), empty_cache=self.empty_cache, memory_allocated=self.allocated
        )

    def use(self, uuid: str, tensors: int, cached: int = 0) -> None:
        if not self.on:
            self.on = uuid
        self.tensors, self.cached = tensors, cached
        self.settle()

    def empty_cache(self) -> None:
        self.cached = 0
        self.settle()

    def allocated(self, index: int) -> int:
        assert index == 0
        return self.tensors

    def settle(self) -> None:
        self.machine.free[self.on] = 80 * GIB - CONTEXT - self.tensors - self.cached


@pytest.fixture
def machine() -> Machine:
    return Machine(*gpus(2))


@pytest.fixture
def torch(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Torch:
    stands = Torch(machine)
    monkeypatch.setitem(sys.modules, "torch", stands)
    return stands


def lender(folder: Path, machine: Machine, **environment: str) -> Lender:
    time = Time()
    return Lender(machine, LockFolder(folder), environment, Clock(time.now, time.pause))


def names(lease: Lease) -> list[str]:
    return [device.uuid for device in lease.devices]


def test_the_context_of_an_idle_process_and_its_caches_are_nobodys_leak(
    tmp_path: Path, machine: Machine, torch: Torch
) -> None:
    mine = lender(tmp_path, machine)
    for _ in range(2):
        lease = mine.lease(1, "uses CUDA", 0.0)
        assert lease.leaks == ()
        torch.use(names(lease)[0], tensors=0, cached=3 * GIB)
        lease.end()
    assert lender(tmp_path, machine, CUDA_VISIBLE_DEVICES="0").lease(1, "another process", 0.0).leaks == ()


def test_tensors_that_a_test_left_in_its_process_are_its_leak(
    tmp_path: Path, machine: Machine, torch: Torch
) -> None:
    mine = lender(tmp_path, machine)
    for test, tensors in (("first", 0), ("leaks", 2 * GIB)):
        lease = mine.lease(1, test, 0.0)
        torch.use(names(lease)[0], tensors)
        lease.end()
    (leak,) = mine.lease(1, "next", 0.0).leaks
    assert (leak.test, leak.bytes) == ("leaks", 2 * GIB)


def test_a_process_that_used_cuda_leases_the_devices_it_has_and_no_others(
    tmp_path: Path, machine: Machine, torch: Torch
) -> None:
    mine = lender(tmp_path, machine)
    lease = mine.lease(1, "first", 0.0)
    torch.use(names(lease)[0], 0)
    lease.end()
    with pytest.raises(DeviceError, match="has initialised CUDA on 1, which it cannot change any more"):
        mine.lease(2, "wants both", 0.0)
    machine.free["GPU-bbbbbbbb"] = 80 * GIB
    somebody = lender(tmp_path, machine, CUDA_VISIBLE_DEVICES="0").lease(1, "somebody", 0.0)
    with pytest.raises(DeviceError, match="did not come free"):
        mine.lease(1, "second", 0.0)
    somebody.end()
    assert names(mine.lease(1, "second", 0.0)) == ["GPU-aaaaaaaa"]


def test_a_process_that_used_cuda_before_its_first_lease_has_all_that_it_saw_in_that_order(
    tmp_path: Path, machine: Machine, torch: Torch
) -> None:
    torch.use("GPU-bbbbbbbb", 0)
    mine = lender(tmp_path, machine, CUDA_VISIBLE_DEVICES="1,0")
    assert names(mine.lease(1, "first", 0.0)) == ["GPU-bbbbbbbb"]
