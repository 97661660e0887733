"""A case may do to its process what it likes; only that case ends, and it ends with its operation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import LaunchError
from harness.launch import Launcher, Run
from harness.scenario import Admit, Config, Scenario, Step
from harness.trace import Outcome, Snapshot, Trace, Violation

HERE = Path(__file__).parent
TARGET = "misbehaving:Misbehaving"


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hosts") / "left-behind"


@pytest.fixture(autouse=True, scope="module")
def _hosts_find_the_target(left_behind: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("LEFT_BEHIND", str(left_behind))
        yield


@pytest.fixture(params=["fork", "reuse"], scope="module")
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    with Launcher(TARGET, isolation=request.param, jobs=1, limit=2.0) as launched:
        yield launched


def scenario(*requests: str, seed: int = 0) -> Scenario:
    config = Config("dflash", num_seq_slots=8, max_num_requests=8, buckets=(), seed=seed)
    return Scenario(config, tuple(Admit(request, 1) for request in requests))


def run(launcher: Launcher, *requests: str) -> Trace:
    return launcher.run(Run(scenario(*requests)))


def serving_pid(trace: Trace) -> int:
    return trace.snapshots[0].metadata["pid"]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still running"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("deed", "cause"),
    [
        ("segfault", "SIGSEGV"),
        ("kill-myself", "SIGKILL"),
        ("exit", "status 3"),
    ],
)
def test_a_case_that_dies_is_a_crash_at_its_operation_and_the_next_one_runs(
    launcher: Launcher, deed: str, cause: str
) -> None:
    trace = run(launcher, "fine", deed, "never")
    assert trace.outcome is Outcome.CRASH
    assert trace.at == 1
    assert deed in trace.where()
    assert cause in trace.detail
    assert len(trace.snapshots) == 1
    assert run(launcher, "fine").outcome is Outcome.OK


def test_the_stack_of_a_segfault_is_kept(launcher: Launcher) -> None:
    assert "_segfault" in run(launcher, "segfault").log


def test_an_endless_loop_ends_at_its_limit_with_its_stack_and_nothing_left_running(launcher: Launcher) -> None:
    trace = run(launcher, "fine", "loop")
    assert trace.outcome is Outcome.HANG
    assert trace.at == 1
    assert "_loop" in trace.log
    wait_until_gone(serving_pid(trace))
    assert run(launcher, "fine").outcome is Outcome.OK


def test_a_host_killed_under_its_case_is_a_crash_and_is_replaced() -> None:
    with Launcher(TARGET, isolation="fork", jobs=1) as launcher:
        trace = run(launcher, "fine", "kill-zygote")
        assert (trace.outcome, trace.at) == (Outcome.CRASH, 1)
        wait_until_gone(serving_pid(trace))
        assert run(launcher, "fine").outcome is Outcome.OK


@pytest.mark.parametrize("launcher", ["fork"], indirect=True)
def test_what_a_case_leaves_behind_is_ended_with_it(launcher: Launcher, left_behind: Path) -> None:
    assert run(launcher, "leave-a-child").outcome is Outcome.OK
    wait_until_gone(int(left_behind.read_text()))


def test_a_worker_that_raises_is_an_error_with_its_message(launcher: Launcher) -> None:
    trace = run(launcher, "fine", "raise")
    assert (trace.outcome, trace.at) == (Outcome.ERROR, 1)
    assert trace.detail.startswith("ValueError: the worker says no [")


def test_what_an_operation_that_raised_left_behind_is_seen_and_nothing_else_is(launcher: Launcher) -> None:
    trace = run(launcher, "fine", "raise")
    assert trace.left is not None
    assert (trace.left.operation, trace.left.metadata["pid"]) == (1, serving_pid(trace))
    assert len(trace.snapshots) == 1
    assert run(launcher, "fine").left is None
    assert run(launcher, "segfault").left is None


def test_sys_exit_in_a_worker_costs_its_case_only(launcher: Launcher) -> None:
    assert run(launcher, "exit-politely").outcome in (Outcome.CRASH, Outcome.ERROR)
    assert run(launcher, "fine").outcome is Outcome.OK


def object_to_the_first(snapshot: Snapshot) -> list[Violation]:
    return [Violation("I-X", "rule", "no", 0, "this", "that")] if snapshot.operation == 0 else []


def test_a_run_stops_at_its_first_violation_whatever_would_come_next(launcher: Launcher) -> None:
    trace = launcher.run(Run(scenario("fine", "loop"), object_to_the_first))
    assert (trace.outcome, trace.at, len(trace.snapshots)) == (Outcome.VIOLATION, 0, 1)
    pid = serving_pid(trace)
    assert (serving_pid(run(launcher, "fine")) == pid) == (launcher.isolation == "reuse")


def test_a_run_that_is_to_go_on_shows_what_comes_after_a_violation(launcher: Launcher) -> None:
    trace = launcher.run(Run(scenario("fine", "raise"), object_to_the_first, keep_going=True))
    assert (trace.outcome, trace.at) == (Outcome.ERROR, 1)
    assert len(trace.violations) == 1


def test_a_fork_can_compute_on_several_threads_although_its_zygote_rehearsed(launcher: Launcher) -> None:
    assert run(launcher, "parallel").outcome is Outcome.OK


def test_what_a_target_cannot_do_is_unsupported_and_never_a_pass(launcher: Launcher) -> None:
    trace = run(launcher, "unsupported")
    assert (trace.outcome, trace.detail) == (Outcome.UNSUPPORTED, "no such thing here")


def test_a_target_that_does_not_open_cannot_be_launched(launcher: Launcher) -> None:
    with pytest.raises(LaunchError, match="will not open"):
        launcher.run(Run(scenario("fine", seed=13)))


def test_output_of_a_case_does_not_disturb_the_protocol(launcher: Launcher) -> None:
    assert run(launcher, "shout", "fine").outcome is Outcome.OK


def test_every_case_has_a_process_of_its_own_in_fork_and_shares_one_in_reuse(launcher: Launcher) -> None:
    first, second = serving_pid(run(launcher, "a")), serving_pid(run(launcher, "a"))
    assert (first == second) == (launcher.isolation == "reuse")
    assert serving_pid(launcher.run(Run(scenario("a")), fresh=True)) not in (first, second)


def test_a_case_on_a_cpu_sees_no_gpu(launcher: Launcher) -> None:
    assert run(launcher, "fine").snapshots[0].metadata["gpus hidden"] == 1


def test_no_isolation_runs_in_this_very_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)
    with Launcher(TARGET, isolation="none") as launcher:
        assert serving_pid(run(launcher, "a")) == os.getpid()


def test_hosts_end_with_their_launcher() -> None:
    with Launcher(TARGET, isolation="reuse", jobs=1) as launcher:
        pid = serving_pid(run(launcher, "fine"))
    wait_until_gone(pid)


@pytest.mark.parametrize("isolation", ["fork", "reuse"])
def test_nothing_survives_a_parent_that_is_killed_while_a_case_loops(isolation: str, tmp_path: Path) -> None:
    program = f"""
        from harness.launch import Launcher, Run
        from harness.scenario import Admit, Config, Scenario
        def say(snapshot):
            print(snapshot.metadata["pid"], flush=True)
            return ()
        config = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=())
        with Launcher({TARGET!r}, isolation={isolation!r}, jobs=1) as launcher:
            launcher.run(Run(Scenario(config, (Admit("fine", 1), Admit("loop", 1))), say))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        serving = int(parent.stdout.readline())
        family = {serving, *_children(parent.pid)}
        parent.send_signal(signal.SIGKILL)
    for pid in family:
        wait_until_gone(pid)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_illegal_scenario_is_refused_before_anything_runs() -> None:
    from harness.legality import IllegalScenarioError

    config = Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=())
    with (
        Launcher(TARGET, isolation="fork", jobs=1) as launcher,
        pytest.raises(IllegalScenarioError, match="operation 0, step"),
    ):
        launcher.run(Run(Scenario(config, (Step(),))))


def test_a_launcher_without_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LaunchError, match=r"install 'specdec-harness\[run\]'"):
        Launcher().__enter__()
