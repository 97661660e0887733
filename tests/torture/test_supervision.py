"""What a supervised run does besides: confirming, isolating, ending leftovers, stopping when told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from torn import MODES, XDIST, run, start, told

from harness.results.log import read_log

FLAKY = """
import os, pathlib, pytest
def test_good(): pass
def test_flaky():
    marker = pathlib.Path(__file__).with_name("was here")
    there = marker.exists()
    marker.touch()
    assert there
def test_bad(): assert {bad}
"""


def outcomes(folder: Path, name: str) -> list[tuple[str, int]]:
    log = read_log(folder / "r.jsonl")
    assert log is not None
    results = [result for session in log.sessions for result in session.results if result.id.endswith(name)]
    return [(result.outcome.value, result.attempt) for result in results]


def test_a_failure_that_does_not_repeat_in_a_fresh_process_is_flaky(tmp_path: Path) -> None:
    torn = run(tmp_path, {"test_a.py": FLAKY.format(bad=False)})
    assert outcomes(tmp_path, "test_flaky") == [("failed", 1), ("flaky", 2)]
    assert outcomes(tmp_path, "test_bad") == [("failed", 1), ("failed", 2)]
    assert outcomes(tmp_path, "test_good") == [("passed", 1)]
    assert "harness: test_a.py::test_flaky failed, once more: flaky" in torn.output
    assert torn.status == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [((), 0, "flaky"), (("--fail-flaky",), 1, "flaky"), (("--no-confirm",), 1, "failed")],
)
def test_a_flaky_test_fails_the_run_only_where_that_is_asked_for(
    tmp_path: Path, arguments: tuple[str, ...], status: int, word: str
) -> None:
    torn = run(tmp_path, {"test_a.py": FLAKY.format(bad=True)}, *arguments)
    assert (torn.status, torn.words["test_flaky"]) == (status, word)


ISOLATED = """
import os
seen = []
def test_first(): pass
def test_apart(): assert not seen; seen.append(1)
def test_last(): seen.append(1)
def test_apart_too(): assert not seen
"""
LIST = """
test_a.py::test_first
test_a.py::test_apart ISOLATION
test_a.py::test_last
test_a.py::test_apart_too ISOLATION
"""


@MODES
def test_an_isolation_entry_has_a_process_of_its_own(tmp_path: Path, mode: tuple[str, ...]) -> None:
    files = {"test_a.py": ISOLATED, "list.txt": LIST}
    arguments = ("-p", "harness.pytest_plugin.options", "--test-list=list.txt", "--no-confirm", *mode)
    torn = run(tmp_path, files, *arguments)
    assert set(torn.words.values()) == {"passed"}
    log = read_log(tmp_path / "r.jsonl")
    assert log is not None
    assert [result.id.partition("::")[2] for result in log.sessions[0].results][-2:] == [
        "test_apart",
        "test_apart_too",
    ]
    assert torn.status == pytest.ExitCode.OK


def test_what_a_test_leaves_running_ends_with_the_session(tmp_path: Path) -> None:
    test = """
    import os, pathlib, time
    def test_a():
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if os.fork() == 0:
                pathlib.Path("daemon").write_text(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        os.waitpid(pid, 0)
        while not pathlib.Path("daemon").exists() or not pathlib.Path("daemon").read_text():
            time.sleep(0.01)
    """
    torn = run(tmp_path, {"test_a.py": test})
    assert torn.words == {"test_a": "passed"}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "daemon").read_text()), 0)


def _is_logged(folder: Path, name: str) -> bool:
    log = read_log(folder / "r.jsonl")
    return log is not None and f"test_a.py::{name}" in log.results


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@MODES
def test_an_interrupt_ends_both_processes_with_the_log_intact(
    tmp_path: Path, number: signal.Signals, mode: tuple[str, ...]
) -> None:
    test = """
    import pathlib, time
    def test_a(): pass
    def test_b():
        pathlib.Path("there").touch()
        time.sleep(600)
    def test_c(): pass
    """
    with start(tmp_path, {"test_a.py": test}, *mode, *(("--dist=loadfile",) if mode else ())) as process:
        # What a worker of xdist has done is in the log once its controller heard of it.
        while process.poll() is None and not ((tmp_path / "there").exists() and _is_logged(tmp_path, "test_a")):
            os.sched_yield()
        process.send_signal(number)
        output = told(process)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    log = read_log(tmp_path / "r.jsonl")
    assert log is not None
    assert log.results["test_a.py::test_a"].outcome.value == "passed"
    assert "test_a.py::test_c" not in log.results


def test_a_lost_cuda_context_is_charged_to_its_test_and_no_other_one(tmp_path: Path) -> None:
    torch = """
    import sys, types
    lost = False
    def synchronize():
        if lost:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\\nmore")
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, synchronize=synchronize)
    sys.modules["torch"] = torch
    def test_good(): synchronize()
    def test_out_of_bounds():
        global lost
        lost = True
    def test_last(): synchronize()
    """
    torn = run(tmp_path, {"test_a.py": torch}, "--no-confirm")
    assert torn.words == {"test_good": "passed", "test_out_of_bounds": "failed", "test_last": "passed"}
    assert "its CUDA context is lost: CUDA error: an illegal memory access" in torn.messages["test_out_of_bounds"]


def test_a_test_that_is_known_to_fail_may_crash(tmp_path: Path) -> None:
    tests = """
    import os
    def test_expected(): os._exit(1)
    def test_unstable(): os._exit(1)
    def test_last(): pass
    """
    waives = (
        "test_a.py::test_expected XFAIL (https://nvbugs/1)\ntest_a.py::test_unstable UNSTABLE (https://nvbugs/2)\n"
    )
    options = ("-p", "harness.pytest_plugin.options", "--waives-file=waives.txt")
    torn = run(tmp_path, {"test_a.py": tests, "waives.txt": waives}, *options)
    assert torn.words == {"test_expected": "expected", "test_unstable": "unstable-failed", "test_last": "passed"}
    assert torn.status == pytest.ExitCode.OK


def test_a_process_that_its_tests_limit_ends_is_a_hang(tmp_path: Path) -> None:
    test = """
    import time, pytest
    @pytest.mark.timeout(0.2, method="thread")
    def test_hangs(): time.sleep(600)
    def test_last(): pass
    """
    torn = run(tmp_path, {"test_a.py": test}, "--no-confirm")
    assert torn.words == {"test_hangs": "hung", "test_last": "passed"}
    assert torn.messages["test_hangs"] == "no end within 0.2 s"


def test_what_cannot_begin_is_not_begun_again(tmp_path: Path) -> None:
    hook = "import pytest\ndef pytest_configure(): raise pytest.UsageError('not like this')"
    with start(tmp_path, {"conftest.py": hook, "test_a.py": "def test_a(): pass"}) as process:
        output = told(process)
    assert process.returncode == pytest.ExitCode.USAGE_ERROR, output
    assert output.count("not like this") == 1
    assert "no progress" not in output


@pytest.mark.parametrize("option", ["--pdb", "--collect-only"])
def test_a_person_at_a_debugger_has_pytest_itself(tmp_path: Path, option: str) -> None:
    test = "import os\ndef test_a(): pass\nprint('PARENT', os.environ['TORTURE'] == str(os.getppid()))"
    os.environ["TORTURE"] = str(os.getpid())
    try:
        with start(tmp_path, {"test_a.py": test}, option, "-s") as process:
            output = told(process)
    finally:
        del os.environ["TORTURE"]
    assert "PARENT True" in output


@pytest.mark.slow
def test_a_worker_that_hangs_does_not_stop_the_other(tmp_path: Path) -> None:
    test = """
    import time, pytest
    @pytest.mark.timeout(1)
    def test_hangs():
        while True:
            try:
                time.sleep(1)
            except BaseException:  # its own limit's, too
                pass
    @pytest.mark.parametrize("n", range(20))
    def test_other(n): pass
    """
    torn = run(tmp_path, {"test_a.py": test}, "--no-confirm", *XDIST)
    words = torn.words
    assert words.pop("test_hangs") == "hung"
    assert list(words.values()) == ["passed"] * 20
    assert "in test_hangs" in torn.log.results["test_a.py::test_hangs"].text


@MODES
def test_isolation_that_is_not_to_be_had_is_told(pytester: pytest.Pytester, mode: tuple[str, ...]) -> None:
    pytester.makepyfile(test_a=ISOLATED)
    (pytester.path / "list.txt").write_text(LIST)
    plugins = ("-p", "harness.pytest_plugin", "-p", "harness.pytest_plugin.options")
    result = pytester.runpytest_inprocess(*plugins, "-p", "no:cacheprovider", "--test-list=list.txt", *mode[-2:])
    result.stdout.fnmatch_lines(
        ["2 ISOLATION tests ran among the others: with --results each has a process of its own"]
    )
