"""`--results`: what the log and JUnit have of a run, with and without xdist."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

import harness
from harness.results.junit import render_junit
from harness.results.log import Log, read_log
from harness.results.records import Word
from harness.results.summary import count_words

# Recording alone: what watches over a whole run has its own tests.
PLUGINS = ("-p", "harness.pytest_plugin.run_options", "-p", "harness.pytest_plugin.recording")
TESTS = """
    import os
    import pytest

    def test_passes(): pass
    def test_fails(): assert 1 == 2
    def test_subtests(subtests):
        for number in range(3):
            with subtests.test(number=number):
                assert number != 1, "one is wrong"
    def test_skips(): pytest.skip("not today")
    @pytest.mark.xfail(reason="known")
    def test_fails_as_it_should(): assert 0
    @pytest.fixture
    def broken_before(): raise RuntimeError("before")
    @pytest.fixture
    def broken_after():
        yield
        raise RuntimeError("after")
    def test_breaks_before(broken_before): pass
    def test_breaks_after(broken_after): pass
    def test_fails_and_breaks_after(broken_after): assert 0, "first"
"""
WORDS = {
    "test_a.py::test_passes": "passed",
    "test_a.py::test_fails": "failed",
    "test_a.py::test_subtests": "failed",
    "test_a.py::test_skips": "skipped",
    "test_a.py::test_fails_as_it_should": "expected",
    "test_a.py::test_breaks_before": "error",
    "test_a.py::test_breaks_after": "error",
    "test_a.py::test_fails_and_breaks_after": "failed",
}


@pytest.fixture(params=[(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["one process", "xdist"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGINS, "-p", "no:cacheprovider", "--results", "r.jsonl", *arguments)


def log_in(pytester: pytest.Pytester) -> Log:
    log = read_log(pytester.path / "r.jsonl")
    assert log is not None
    return log


def words(log: Log) -> dict[str, str]:
    return {name: result.outcome.value for name, result in log.results.items()}


def test_every_test_has_one_result_with_its_word(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(test_a=TESTS)
    assert run(pytester, *workers).ret == pytest.ExitCode.TESTS_FAILED
    log = log_in(pytester)
    assert words(log) == WORDS
    assert len(log.sessions[0].results) == len(WORDS)
    assert log.sessions[0].running == {}
    assert log.ended
    results = log.results
    assert results["test_a.py::test_breaks_before"].phase == "setup"
    assert results["test_a.py::test_breaks_after"].phase == "teardown"
    assert results["test_a.py::test_skips"].message == "not today"
    failed = results["test_a.py::test_subtests"]
    assert failed.message == "AssertionError: one is wrong"
    assert "number != 1" in failed.text
    assert failed.replay == "pytest test_a.py::test_subtests"
    both = results["test_a.py::test_fails_and_breaks_after"]
    assert "AssertionError: first" in both.text
    assert "RuntimeError: after" in both.text


@pytest.mark.parametrize("by", ["ini", "environment"])
def test_the_limit_of_the_whole_run_is_the_one_that_holds(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    pytester.makepyfile(test_a="def test_a(): assert '\"limit\":80.0}' in open('r.jsonl').read()")
    if by == "ini":
        pytester.makeini("[pytest]\ntimeout = 80")
    else:
        monkeypatch.setenv("PYTEST_TIMEOUT", "80")
    assert run(pytester).ret == 0


def test_the_log_has_what_was_to_run_where_it_ran_and_its_limit(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_a="""
        import os, pytest
        from pathlib import Path

        @pytest.mark.timeout(70)
        def test_itself():
            line = Path("r.jsonl").read_text().splitlines()[-1]
            assert '"kind":"started","id":"test_a.py::test_itself"' in line
            assert f'"pid":{os.getpid()},"limit":70.0' in line
        """
    )
    assert run(pytester, *workers).ret == 0
    log = log_in(pytester)
    assert log.plan is not None
    assert log.plan.tests == ("test_a.py::test_itself",)


def test_a_result_is_in_the_file_before_the_next_test_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        from pathlib import Path
        def results(): return Path("r.jsonl").read_text().count('"kind":"result"')
        def test_first(): assert results() == 0
        def test_second(): assert results() == 1
        def test_third(): assert results() == 2
        """
    )
    assert run(pytester).ret == 0


def test_a_worker_that_is_killed_costs_the_test_it_ran(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        import os, pytest, signal
        @pytest.mark.parametrize("n", range(12))
        def test_one(n):
            if n == 5:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert run(pytester, "-n", "2").ret == pytest.ExitCode.TESTS_FAILED
    log = log_in(pytester)
    assert words(log) == {f"test_a.py::test_one[{n}]": "crashed" if n == 5 else "passed" for n in range(12)}
    assert log.results["test_a.py::test_one[5]"].signature == "crashed"


def test_files_that_cannot_be_collected_are_errors_until_they_can(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_a="def test_a(): pass", test_b="import no_such_module")
    assert run(pytester, "--continue-on-collection-errors", *workers).ret == pytest.ExitCode.TESTS_FAILED
    log = log_in(pytester)
    assert words(log) == {"test_b.py": "error", "test_a.py::test_a": "passed"}
    assert log.results["test_b.py"].message == "ModuleNotFoundError: No module named 'no_such_module'"
    assert log.plan is not None
    assert log.plan.tests == ("test_a.py::test_a",)
    pytester.makepyfile(no_such_module="")
    assert run(pytester, "--resume", "--continue-on-collection-errors", *workers).ret == 0
    assert words(log_in(pytester)) == {"test_b.py": "passed", "test_a.py::test_a": "passed"}


def test_another_attempt_of_a_plugin_that_repeats_tests_counts_in_place_of_the_first(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl
        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for report in runtestprotocol(item, log=False, nextitem=nextitem):
                if report.failed:
                    report.outcome = "rerun"
                    item.ihook.pytest_runtest_logreport(report=report)
                    break
            runtestprotocol(item, nextitem=nextitem)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """
    )
    pytester.makepyfile(test_a="tries = []\ndef test_a(): tries.append(1); assert len(tries) == 2")
    assert run(pytester, "-p", "no:terminal").ret == 0
    (result,) = log_in(pytester).results.values()
    assert (result.outcome, result.attempt) == (Word.PASSED, 2)


def test_junit_has_what_the_log_has(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(test_a=TESTS)
    run(pytester, *workers)
    log = log_in(pytester)
    written = (pytester.path / "r.xml").read_text()
    assert written == render_junit(log.header, log.results.values(), count_words(log.results.values()))
    suite = fromstring(written)[0]  # noqa: S314  our own file
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "3",
        "errors": "2",
        "skipped": "2",
    }


def test_deselected_tests_are_counted_without_a_line_each(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_a=TESTS)
    run(pytester, "-k", "skips or passes", *workers)
    log = log_in(pytester)
    assert sorted(words(log).values()) == ["passed", "skipped"]
    assert log.deselected == 6


def test_failures_are_shown_by_what_they_have_in_common(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        import pytest
        @pytest.mark.parametrize("n", range(7))
        def test_same(n): raise ValueError(f"at {hex(id(n) + n)}: too long")
        def test_other(): raise KeyError("k")
        """
    )
    run(pytester).stdout.fnmatch_lines(
        [
            "*results: r.jsonl*",
            "8 failed",
            "ValueError: at [*]: too long: 7 tests",
            "  failed  test_a.py::test_same[[]0[]]",
            "  and 2 more",
            "  again: pytest 'test_a.py::test_same[[]0[]]'",
            "KeyError: 'k': 1 test",
        ],
        consecutive=False,
    )


def test_the_header_says_what_ran_and_on_what(pytester: pytest.Pytester, tmp_path: Path) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    (tmp_path / "d.json").write_text('{"format": 1, "durations": {}}')
    run(pytester, "--durations-file", str(tmp_path / "d.json"))
    header = log_in(pytester).header
    assert header.session == 1
    assert header.command[-2:] == ("--durations-file", str(tmp_path / "d.json"))
    assert len(header.durations_sha256) == 64
    assert header.machine == os.uname().nodename
    assert header.versions["pytest"] == pytest.__version__
    assert header.versions["harness"] == harness.__version__


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--results", "r.xml"), "r.xml: JUnit is written there: give the log another ending, such as .jsonl"),
        (("--results", "none/r.jsonl"), "none/r.jsonl: cannot be written: No such file or directory*"),
        (("--results", "test_a.py"), "test_a.py:1: is no line of a results log*"),
        (("--results", "r.jsonl", "--durations-file", "none"), "none: cannot be read: No such file or directory"),
        (("--resume",), "--resume goes on from a log: name it with --results FILE"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    pytester: pytest.Pytester, arguments: tuple[str, ...], said: str
) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    result = pytester.runpytest_subprocess(*PLUGINS, "-p", "no:cacheprovider", *arguments)
    assert result.ret == 2
    (line,) = [line for line in result.errlines if line]
    result.stderr.fnmatch_lines([f"Exit: harness: *{said}"])
    assert "Traceback" not in line + result.stdout.str()


def test_without_the_option_nothing_is_written(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    assert pytester.runpytest_inprocess(*PLUGINS, "-p", "no:cacheprovider").ret == 0
    assert run(pytester, "--collect-only").ret == 0
    assert sorted(path.name for path in pytester.path.iterdir() if path.is_file()) == ["test_a.py"]


def test_half_a_line_of_a_worker_spoils_no_result(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        def test_one():
            with open("r.jsonl", "ab") as log:
                log.write(b'{"kind":"started","id":"test_a.py::te')
        def test_two(): pass
        """
    )
    assert run(pytester, "-n", "1").ret == 0
    assert {result.outcome.value for result in log_in(pytester).results.values()} == {"passed"}
    assert len(log_in(pytester).results) == 2
