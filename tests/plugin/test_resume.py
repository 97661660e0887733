"""`--resume`: what has a result is not run again and still counts; what it cannot go on from is refused."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from harness.results.log import Log, LogWriter, read_log
from harness.results.records import Header, Result, Started, Word

PLUGINS = ("run_options", "sharding", "recording")
TESTS = """
    import os, pytest
    from pathlib import Path

    def note(name):
        with open("ran.txt", "a") as file:
            print(name, file=file)

    def test_one(): note("one")
    def test_two(): note("two"); assert not Path("broken").exists()
    def test_three(): note("three"); Path("stop").exists() and os._exit(9)
    def test_four(): note("four")
"""


@pytest.fixture(params=[(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["one process", "xdist"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
def tree(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_a=TESTS)
    return pytester


def run(tree: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    plugins = (word for name in PLUGINS for word in ("-p", f"harness.pytest_plugin.{name}"))
    # A process of its own only where a test ends the process or interrupts it.
    ends = (tree.path / "stop").exists() or (tree.path / "interrupt").exists()
    pytest_run = tree.runpytest_subprocess if ends else tree.runpytest_inprocess
    return pytest_run(*plugins, "-p", "no:cacheprovider", "--results", "r.jsonl", *arguments)


def ran(tree: pytest.Pytester) -> list[str]:
    """The tests that ran since this was asked last."""
    file = tree.path / "ran.txt"
    names = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


def log_in(tree: pytest.Pytester) -> Log:
    log = read_log(tree.path / "r.jsonl")
    assert log is not None
    return log


def outcomes(tree: pytest.Pytester) -> dict[str, str]:
    return {name.partition("test_a.py::test_")[2]: one.outcome.value for name, one in log_in(tree).results.items()}


def test_results_that_the_log_has_are_not_made_again_and_still_decide(
    tree: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    (tree.path / "broken").touch()
    (tree.path / "stop").touch()
    assert run(tree).ret == 9  # the process left in the third test
    assert ran(tree) == ["one", "two", "three"]
    (tree.path / "broken").unlink()
    (tree.path / "stop").unlink()
    result = run(tree, "--resume", *workers)
    assert sorted(ran(tree)) == ["four", "three"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(tree) == {"one": "passed", "two": "failed", "three": "passed", "four": "passed"}
    result.stdout.fnmatch_lines(["3 passed, 1 failed, 2 reused", "2 reused from the log, 1 of them failures"])
    junit = (tree.path / "r.xml").read_text()
    assert junit.count("<testcase") == 4
    assert junit.count("reused from: session 1") == 2
    assert 'name="tests reused" value="2"' in junit
    end = log_in(tree).sessions[-1].end
    assert end is not None
    assert end.counts == {"passed": 3, "failed": 1, "reused": 2}
    assert [session.header.session for session in log_in(tree).sessions] == [1, 2]
    assert len({session.header.run for session in log_in(tree).sessions}) == 1


@pytest.mark.parametrize(("broken", "status"), [(False, 0), (True, 1)])
def test_when_nothing_is_left_the_exit_status_is_that_of_the_results(
    tree: pytest.Pytester, workers: tuple[str, ...], broken: bool, status: int
) -> None:
    if broken:
        (tree.path / "broken").touch()
    assert run(tree).ret == status
    ran(tree)
    assert run(tree, "--resume", *workers).ret == status
    assert ran(tree) == []


def test_the_first_run_may_say_resume_too(tree: pytest.Pytester) -> None:
    assert run(tree, "--resume").ret == 0
    assert len(ran(tree)) == 4


def test_results_are_never_mixed_with_those_of_an_earlier_run(tree: pytest.Pytester) -> None:
    run(tree)
    ran(tree)
    result = run(tree)
    assert result.ret == 2
    result.stderr.fnmatch_lines(["Exit: harness: *r.jsonl: has results already; --resume goes on from them*"])
    assert ran(tree) == []


def test_a_test_that_was_running_when_two_sessions_died_is_recorded_and_not_tried_again(
    tree: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    (tree.path / "stop").touch()
    assert run(tree).ret == run(tree, "--resume").ret == 9
    assert ran(tree) == ["one", "two", "three", "three"]
    result = run(tree, "--resume", *workers)
    assert ran(tree) == ["four"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(tree)["three"] == "crashed"
    assert log_in(tree).results["test_a.py::test_three"].message.startswith("was running when 2 sessions died")
    result.stdout.fnmatch_lines(["3 passed, 1 crashed, 2 reused"])


def test_a_session_that_a_person_interrupts_blames_no_test(tree: pytest.Pytester) -> None:
    tree.makeconftest(
        """
        from pathlib import Path
        def pytest_runtest_call(item):
            if item.name == "test_two" and Path("interrupt").exists():
                raise KeyboardInterrupt
        """
    )
    (tree.path / "interrupt").touch()
    for more in ((), ("--resume",), ("--resume",)):
        assert run(tree, *more).ret == pytest.ExitCode.INTERRUPTED
    (tree.path / "interrupt").unlink()
    assert run(tree, "--resume").ret == 0
    assert outcomes(tree)["two"] == "passed"


def test_a_run_that_stops_at_its_first_failure_goes_on_behind_it(tree: pytest.Pytester) -> None:
    (tree.path / "broken").touch()
    assert run(tree, "-x").ret == pytest.ExitCode.TESTS_FAILED
    assert ran(tree) == ["one", "two"]
    assert run(tree, "--resume").ret == pytest.ExitCode.TESTS_FAILED
    assert ran(tree) == ["three", "four"]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (("--shard", "1/2"), ("--shard", "2/2"), "the run's shard was 1/2, now 2/2"),
        (("--shard", "1/2"), (), "the run's shard was 1/2, now none"),
        ((), ("--durations-file", "d.json"), "the run's durations file was none, now d.json"),
        ((), ("-k", "one"), "the run selected 4 tests, and now 1, not the same ones"),
        ((), ("-k", "one", "-n", "2"), "the run selected 4 tests, and now 1, not the same ones"),
    ],
)
def test_another_selection_than_the_run_began_with_is_refused(
    tree: pytest.Pytester, before: tuple[str, ...], now: tuple[str, ...], said: str
) -> None:
    (tree.path / "d.json").write_text('{"format": 1, "durations": {}}')
    run(tree, *before)
    ran(tree)
    result = run(tree, "--resume", *now)
    assert result.ret == 2
    assert f"r.jsonl: cannot go on: {said}" in result.stderr.str() + result.stdout.str()
    assert ran(tree) == []


def test_a_durations_file_that_changed_under_its_name_is_refused(tree: pytest.Pytester) -> None:
    durations = tree.path / "d.json"
    durations.write_text('{"format": 1, "durations": {}}')
    arguments = ("--shard", "1/2", "--durations-file", "d.json")
    run(tree, *arguments)
    durations.write_text('{"format": 1, "durations": {"test_a.py::test_one": 9}}')
    result = run(tree, "--resume", *arguments)
    assert result.ret == 2
    result.stderr.fnmatch_lines(["*the run's durations file was d.json, its content changed*"])


def test_what_only_started_is_run_and_what_has_a_result_of_any_word_is_not(tree: pytest.Pytester) -> None:
    now = time.time()
    with closing(LogWriter(Path(tree.path / "r.jsonl"))) as writer:
        writer.write(Header("r1", 1, now))
        writer.write(Started("test_a.py::test_one", now))
        writer.write(Result("test_a.py::test_two", Word.HUNG, now))
        writer.write(Result("test_a.py::test_three", Word.UNSTABLE_FAILED, now))
    assert run(tree, "--resume").ret == pytest.ExitCode.TESTS_FAILED
    assert ran(tree) == ["one", "four"]
