"""The history: runs are added once, by any number of processes, and tell what flickers and how long it takes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import make_log, result

from harness.errors import UsageError
from harness.results.durations import read_durations, typical, write_durations
from harness.results.history import History
from harness.results.log import read_log
from harness.results.records import Word


def added(tmp_path: Path, *logs: str) -> History:
    history = History(tmp_path / "h.sqlite", create=True)
    for log in logs:
        read = read_log(Path(log))
        assert read is not None
        history.add(read)
    return history


def test_a_run_is_added_once_and_what_it_gained_by_a_resume_is_added_too(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    make_log(path, [result("a"), result("b", Word.FAILED)])
    first = read_log(path)
    assert first is not None
    history = History(tmp_path / "h.sqlite", create=True)
    assert history.add(first)
    assert not history.add(first)
    make_log(path, [result("b", Word.FLAKY, at=20.0), result("c")], run="r", session=2)
    later = read_log(path)
    assert later is not None
    assert history.add(later)
    assert not history.add(first)  # an older copy takes nothing back
    newest = history.newest()
    assert newest is not None
    assert {one.id: one.outcome.value for one in newest.results} == {"a": "passed", "b": "flaky", "c": "passed"}
    assert len(history.runs_of("b")) == 1


def test_many_processes_may_begin_and_add_to_one_history_at_once(tmp_path: Path) -> None:
    logs = [make_log(tmp_path / f"r{i}.jsonl", [result(f"t{n}") for n in range(50)]) for i in range(8)]
    command = [sys.executable, "-m", "harness", "results", "add", "--history", str(tmp_path / "h.sqlite")]
    running = [subprocess.Popen([*command, *logs], stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[1] for process in running] == [b""] * 4
    assert [process.returncode for process in running] == [0] * 4
    history = History(tmp_path / "h.sqlite")
    assert len(history.tests()) == 50
    assert len(history.runs_of("t7")) == 8
    with sqlite3.connect(tmp_path / "h.sqlite") as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT count(*) FROM results").fetchone() == (400,)
    assert [path.name for path in tmp_path.glob(".h.sqlite*")] == []


def test_flaky_is_what_passed_and_failed_on_one_commit_in_one_configuration(tmp_path: Path) -> None:
    def run(name: str, commit: str, config: str = "", **outcomes: Word) -> str:
        results = [result(test, outcome) for test, outcome in outcomes.items()]
        return make_log(tmp_path / f"{name}.jsonl", results, commit=commit, config=config)

    logs = [
        run("r1", "A", both=Word.PASSED, fixed=Word.FAILED, device=Word.PASSED, waived=Word.UNSTABLE_PASSED),
        run("r2", "A", both=Word.CRASHED, fixed=Word.FAILED, waived=Word.UNSTABLE_FAILED, once=Word.FLAKY),
        run("r3", "A", both=Word.PASSED, skipped=Word.SKIPPED),
        run("r4", "A", both=Word.PASSED, skipped=Word.FAILED),
        run("r5", "B", both=Word.PASSED, fixed=Word.PASSED),
        run("r6", "A", "--device cuda", device=Word.FAILED),
        run("r7", "A-dirty", changing=Word.PASSED),
        run("r8", "A-dirty", changing=Word.FAILED),
    ]
    found = {one.test: (one.failed, one.passed) for one in added(tmp_path, *logs).flaky()}
    assert found == {"once": (1, 1), "waived": (1, 1), "both": (1, 3)}


@given(st.lists(st.floats(1.0, 1.2), min_size=2, max_size=40), st.integers(0, 39), st.floats(10, 1e4))
def test_one_run_under_contention_does_not_move_a_duration(seconds: list[float], at: int, outlier: float) -> None:
    disturbed = [*seconds]
    disturbed.insert(at % (len(seconds) + 1), outlier)
    assert 1.0 <= typical(disturbed) <= 1.2
    assert 1.0 <= typical([seconds[0], outlier]) <= 1.2


def test_a_duration_is_that_of_recent_runs_which_passed(tmp_path: Path) -> None:
    logs = [
        make_log(
            tmp_path / f"r{i}.jsonl", [result("a", at=i, duration=float(i)), result("b", Word.FAILED, i, 3.0)]
        )
        for i in range(1, 41)
    ]
    logs.append(
        make_log(tmp_path / "hung.jsonl", [result("a", Word.HUNG, 99.0, 600.0), result("s", Word.SKIPPED)])
    )
    logs.append(make_log(tmp_path / "other.jsonl", [result("a", at=100.0, duration=7.0)], stage="H100"))
    history = added(tmp_path, *logs)
    assert history.durations() == {"a": 28.0, "b": 3.0}  # of 16 to 40 and 7, the last 25
    assert history.durations("H100") == {"a": 7.0}


def test_a_durations_file_is_read_as_written_and_equal_durations_are_equal_bytes(tmp_path: Path) -> None:
    write_durations(tmp_path / "a.json", {"t[b]": 1.5, "a\n\u2028é": 0.12345})
    write_durations(tmp_path / "b.json", {"a\n\u2028é": 0.12345, "t[b]": 1.5})
    assert read_durations(tmp_path / "a.json") == {"t[b]": 1.5, "a\n\u2028é": 0.123}
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "durations": {}}',
        '{"format": 1, "durations": {"a": "1"}}',
        '{"format": 1, "durations": {"a": -1}}',
        '{"format": 1, "durations": {"a": NaN}}',
        '{"format": 1, "durations": {"a": true}}',
        "\udcff",
    ],
)
def test_what_is_no_durations_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"d\.json: .+"):
        read_durations(tmp_path / "d.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read_durations(tmp_path / "none.json")


def test_what_is_no_history_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("no database, and long enough to have a header of one, or nearly so" * 9)
    with pytest.raises(UsageError, match=r"text.sqlite: cannot be used as a history: file is not a database"):
        History(tmp_path / "text.sqlite").newest()
    with pytest.raises(UsageError, match="no history there; `harness results add LOG` begins one"):
        History(tmp_path / "none.sqlite").newest()
    sqlite3.connect(tmp_path / "empty.sqlite").execute("CREATE TABLE x (y)")
    with pytest.raises(UsageError, match="is no history of format 1"):
        History(tmp_path / "empty.sqlite").newest()
    with pytest.raises(UsageError, match="cannot be written"):
        History(tmp_path / "none" / "h.sqlite", create=True)
