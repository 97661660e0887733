"""`harness devices` says what is there, who holds it and who left memory behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import GIB, Machine, Time, gpus, lay_smi

from harness.cli import main
from harness.devices import Clock, Lender, LockFolder


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    monkeypatch.setenv("HARNESS_DEVICES_DIR", str(tmp_path / "locks"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "locks").mkdir()
    return tmp_path / "locks"


def told(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(["devices"])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_a_machine_without_gpus_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert told(capsys) == "no GPU: neither the driver nor nvidia-smi answers\n"


def test_holders_leaks_and_hidden_devices_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, locks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", lay_smi(tmp_path / "smi", 3))
    time, machine = Time(), Machine(*gpus(1))
    lender = Lender(machine, LockFolder(locks), {}, Clock(time.now, time.pause))
    lender.lease(1, "a.py::test_leaks", 0.0).end()
    machine.free["GPU-aaaaaaaa"] = 70 * GIB
    lease = lender.lease(1, "a.py::test_now", 0.0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    first, leak, second, third = told(capsys).splitlines()
    assert first.startswith("0  GPU-aaaaaaaa  H100, 79 GiB  held by a.py::test_now (process ")
    assert leak == "   10240 MiB left behind by a.py::test_leaks"
    assert second == "1  GPU-bbbbbbbb  H100, 79 GiB  free"
    assert third == "2  GPU-cccccccc  H100, 79 GiB  hidden"
    lease.end()
