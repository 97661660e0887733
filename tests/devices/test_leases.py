"""Leases between processes: one holder a device, dead holders free it, and who left memory behind is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from machines import GIB, Machine, Time, gpus

from harness.devices import Clock, DeviceError, Leak, Lease, Lender, LockFolder, Queue, lock_folder

HERE = Path(__file__).parent


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "contender.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_processes_that_compete_never_hold_one_device_at_once(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "log"
    processes = [start(tmp_path, log, f"{seed}{n}", 3, 8) for n in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    held: dict[str, str] = {}
    for word, pid, uuids in (line.split() for line in log.read_text().splitlines()):
        for uuid in uuids.split(","):
            assert held.get(uuid) == (None if word == "take" else pid)
            held[uuid] = pid
            if word == "give":
                del held[uuid]
    assert len(log.read_text().splitlines()) == 3 * 8 * 2
    assert sorted(path.name for path in tmp_path.glob("ticket-*")) == []


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[int]:
    """A process that held both devices, started a child, and was killed; its process number."""
    os.mkfifo(tmp_path / "log")
    with start(tmp_path, tmp_path / "log", 0, 2, 0) as process, (tmp_path / "log").open() as log:
        assert log.readline().split() == ["take", str(process.pid), "all"]
        with pytest.raises(DeviceError, match=rf"GPU-aaaaaaaa by killed.py::test_it \(process {process.pid}\)"):
            lender(tmp_path).lease(1, "impatient", 0.0)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGKILL)
        process.wait()
        yield process.pid
    for child in children:
        os.kill(int(child), signal.SIGKILL)


def lender(
    folder: Path,
    machine: Machine | None = None,
    time: Time | None = None,
    environment: Mapping[str, str] | None = None,
) -> Lender:
    time = time or Time()
    return Lender(machine or Machine(*gpus(2)), LockFolder(folder), environment or {}, Clock(time.now, time.pause))


def test_a_killed_holder_frees_its_devices_and_stays_named_as_the_last(tmp_path: Path, killed: int) -> None:
    assert Queue(LockFolder(tmp_path), gpus(2)).record("GPU-aaaaaaaa").pid == killed
    lease = lender(tmp_path).lease(2, "next", 0.0)
    assert len(lease.devices) == 2
    lease.end()


def test_a_waiting_case_that_was_killed_keeps_nobody_waiting(tmp_path: Path) -> None:
    held = lender(tmp_path).lease(1, "held", 0.0)
    waiting = start(tmp_path, tmp_path / "log", 0, 2, 0)
    while not list(tmp_path.glob("ticket-*")):
        os.sched_yield()
    waiting.send_signal(signal.SIGKILL)
    with waiting:
        waiting.wait()
    assert lender(tmp_path).lease(1, "next", 0.0).devices != held.devices


def test_a_forked_child_holds_nothing_and_cannot_give_back_what_its_parent_holds(tmp_path: Path) -> None:
    mine = lender(tmp_path)
    lease = mine.lease(2, "parent", 0.0)
    child = os.fork()
    if child == 0:
        lease.end()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(DeviceError, match="did not come free"):
        lender(tmp_path).lease(1, "other", 0.0)


def test_a_forked_child_knows_when_its_parent_has_given_back(tmp_path: Path) -> None:
    lease = lender(tmp_path).lease(2, "parent", 0.0)
    waits, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(waits, 1)
        try:
            lender(tmp_path).lease(2, "child", 0.0)
        except DeviceError:
            os._exit(1)
        os._exit(0)
    lease.end()
    os.write(tell, b".")
    assert os.waitpid(child, 0)[1] == 0
    os.close(waits)
    os.close(tell)


def test_leaving_the_queue_after_being_served_takes_nobodys_place(tmp_path: Path) -> None:
    served, waiting = (Queue(LockFolder(tmp_path), gpus(1)) for _ in range(2))
    first = served.join(1, ["GPU-aaaaaaaa"], "served")
    assert served.take(first) == {"GPU-aaaaaaaa": ""}
    second = waiting.join(1, ["GPU-aaaaaaaa"], "waiting")
    assert second.number == first.number
    served.leave(first)
    assert waiting.take(second) == {}
    served.release(["GPU-aaaaaaaa"])
    assert waiting.take(second) == {"GPU-aaaaaaaa": "served"}


def test_a_lock_is_taken_once_by_this_process_too(tmp_path: Path) -> None:
    one, other = LockFolder(tmp_path), LockFolder(tmp_path)
    assert one.take("name")
    assert not other.take("name")
    assert other.is_held("name")
    one.drop("name")
    assert not other.is_held("name")
    assert other.take("name")


def test_a_case_that_asks_for_more_than_there_is_can_never_run(tmp_path: Path) -> None:
    assert lender(tmp_path).shortage(3) == "needs 3 GPUs, and 2 GPUs can be used here"
    hidden = lender(tmp_path, environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert hidden.shortage(2) == "needs 2 GPUs, and 1 GPU can be used here with CUDA_VISIBLE_DEVICES='1'"
    with pytest.raises(DeviceError, match="needs 2 GPUs"):
        hidden.lease(2, "case", 0.0)


def test_a_process_started_under_a_lease_uses_it_and_waits_for_nobody(tmp_path: Path) -> None:
    outer = lender(tmp_path).lease(2, "outer", 0.0)
    inner = lender(tmp_path, environment=outer.environment)
    assert inner.lease(1, "inner", 0.0).devices == outer.devices[:1]
    lied_to = lender(tmp_path, environment={"HARNESS_LEASE": f"1 {outer.environment['CUDA_VISIBLE_DEVICES']}"})
    with pytest.raises(DeviceError, match="did not come free"):
        lied_to.lease(1, "inner", 0.0)
    outer.end()
    stranger = lender(tmp_path, environment=outer.environment)  # the lease it was told of is over
    lender(tmp_path).lease(2, "somebody", 0.0)
    with pytest.raises(DeviceError, match="did not come free"):
        stranger.lease(1, "inner", 0.0)


# --- memory


def case(folder: Path, machine: Machine, time: Time, test: str) -> Lease:
    """Run a case on one device; return its lease, which is over."""
    lease = lender(folder, machine, time).lease(1, test, 0.0)
    lease.end()
    return lease


def test_a_case_starts_when_the_memory_of_the_one_before_is_back(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    case(tmp_path, machine, time, "first")
    machine.free["GPU-aaaaaaaa"] = 60 * GIB

    def give_back(seconds: float) -> None:
        if seconds >= 5:
            machine.free["GPU-aaaaaaaa"] = 80 * GIB

    time.at = give_back
    assert case(tmp_path, machine, time, "second").leaks == ()
    assert 5 <= time.seconds < 6


def test_memory_that_does_not_come_back_is_charged_to_the_case_before_once(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    case(tmp_path, machine, time, "innocent")
    case(tmp_path, machine, time, "a.py::test_leaks")
    machine.free["GPU-aaaaaaaa"] = 77 * GIB
    leak = Leak("a.py::test_leaks", "GPU-aaaaaaaa", 3 * GIB)
    assert case(tmp_path, machine, time, "third").leaks == (leak,)
    assert str(leak) == "GPU-aaaaaaaa has 3072 MiB less free memory than before: left behind by a.py::test_leaks"
    assert 30 <= time.seconds <= 31, "the wait is bounded"
    assert case(tmp_path, machine, time, "fourth").leaks == ()
    assert 30 <= time.seconds <= 31, "nobody waits for the same leak again"
    assert Queue(LockFolder(tmp_path), gpus(1)).record("GPU-aaaaaaaa").leaks == (leak,)


def test_small_leaks_add_up_until_they_are_seen(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    found: list[Leak] = []
    for number in range(5):
        found += case(tmp_path, machine, time, f"test {number}").leaks
        machine.free["GPU-aaaaaaaa"] = 80 * GIB - (number + 1) * 50 * (1 << 20)
    assert [leak.test for leak in found] == ["test 2"]


def test_a_baseline_measured_beside_a_stranger_rises_when_it_is_gone(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    machine.free["GPU-aaaaaaaa"] = 20 * GIB
    case(tmp_path, machine, time, "beside a stranger")
    machine.free["GPU-aaaaaaaa"] = 80 * GIB
    case(tmp_path, machine, time, "alone")
    machine.free["GPU-aaaaaaaa"] = 79 * GIB
    assert [leak.test for leak in case(tmp_path, machine, time, "after").leaks] == ["alone"]


def test_a_device_whose_memory_nobody_knows_is_leased_without_waiting(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    machine.free["GPU-aaaaaaaa"] = None
    assert case(tmp_path, machine, time, "first").leaks == case(tmp_path, machine, time, "second").leaks == ()
    assert time.seconds == 0


def test_the_memory_of_a_device_of_another_size_is_measured_anew(tmp_path: Path) -> None:
    case(tmp_path, Machine(*gpus(1, 80 * GIB)), Time(), "large")
    assert case(tmp_path, Machine(*gpus(1, 40 * GIB)), Time(), "small").leaks == ()


def test_a_lock_file_that_says_nothing_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "GPU-aaaaaaaa.lock").write_text('{"test": "half')
    assert case(tmp_path, Machine(*gpus(1)), Time(), "case").leaks == ()


def test_a_lease_that_is_interrupted_while_it_waits_for_memory_is_given_back(tmp_path: Path) -> None:
    machine, time = Machine(*gpus(1)), Time()
    case(tmp_path, machine, time, "first")
    machine.free["GPU-aaaaaaaa"] = 0

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    time.at = interrupt
    with pytest.raises(KeyboardInterrupt):
        case(tmp_path, machine, time, "interrupted")
    machine.free["GPU-aaaaaaaa"] = 80 * GIB
    assert case(tmp_path, machine, Time(), "next").leaks == ()


# --- the folder


def test_the_folder_is_named_or_the_runtime_folders_or_in_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    named, runtime = tmp_path / "named", tmp_path / "runtime"
    runtime.mkdir()
    both = {"HARNESS_DEVICES_DIR": str(named), "XDG_RUNTIME_DIR": str(runtime)}
    assert lock_folder(both) == named
    assert lock_folder({"XDG_RUNTIME_DIR": str(runtime)}) == runtime / "harness-devices"
    temporary = lock_folder({})
    assert temporary == tmp_path / f"harness-devices-{os.getuid()}"
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_a_folder_in_which_others_could_exchange_files_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(DeviceError, match=r"chmod \+t"):
        lock_folder({"HARNESS_DEVICES_DIR": str(folder)})
    folder.chmod(0o1777)
    lender(lock_folder({"HARNESS_DEVICES_DIR": str(folder)})).lease(1, "case", 0.0).end()
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o666}, "other users open them too"
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(DeviceError, match="no link"):
        lock_folder({"HARNESS_DEVICES_DIR": str(link)})
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="no place for"):
        lock_folder({"HARNESS_DEVICES_DIR": str(tmp_path / "file")})


def test_a_link_in_place_of_a_lock_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "GPU-aaaaaaaa.lock").symlink_to(victim)
    with pytest.raises(DeviceError, match="symbolic links"):
        lender(folder).lease(1, "case", 0.0)
    assert victim.read_text() == "mine"
