"""The history of runs in SQLite: several processes may add and read at once, and a run is added once.

A history is made whole (schema, write-ahead log) beside its place and linked there, so that of several processes
that begin it together one wins and no other ever sees half of it.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from harness.errors import Place, UsageError
from harness.results.durations import typical
from harness.results.log import Log
from harness.results.records import Header, Result, Word, parse_line, to_line

__all__ = ["Flaky", "History", "Run"]

_VERSION = 1
_BUSY_SECONDS = 60
_SCHEMA = """
CREATE TABLE runs (run TEXT PRIMARY KEY, at REAL, stage TEXT, revision TEXT, config TEXT, header TEXT);
CREATE TABLE results (
    run TEXT REFERENCES runs, test TEXT, at REAL, outcome TEXT, duration REAL, record TEXT, PRIMARY KEY (run, test)
);
CREATE INDEX results_by_test ON results (test, at);
"""
# What an outcome says of the test itself: (failed, passed) executions. The others did not run it.
_EXECUTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys((Word.PASSED, Word.FIXED, Word.UNSTABLE_PASSED, Word.WAIVED_PASSED), (0, 1)),
    **dict.fromkeys((Word.FAILED, Word.ERROR, Word.CRASHED, Word.HUNG), (1, 0)),
    **dict.fromkeys((Word.EXPECTED, Word.UNSTABLE_FAILED, Word.WAIVED_FAILED), (1, 0)),
    Word.FLAKY: (1, 1),
}


@dataclass(frozen=True)
class Run:
    """A run of the history, and one or all of its results."""

    header: Header
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Flaky:
    """A test that both passed and failed on one commit in one configuration: executions there."""

    test: str
    failed: int
    passed: int

    @property
    def rate(self) -> float:
        """The share of executions that failed, between 0 and 1, neither of them."""
        return self.failed / (self.failed + self.passed)


class History:
    """A history file. Every method raises `UsageError` for a file that is none, or that stays locked."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Name the file; with `create`, make it where there is none."""
        self._path, self._place = path, Place(str(path))
        if create and not path.exists():
            with self._one_line():
                self._create()

    def _create(self) -> None:
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            with closing(sqlite3.connect(temporary)) as database:
                database.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA} PRAGMA user_version = {_VERSION};")
            temporary.chmod(0o644)
            try:
                self._path.hardlink_to(temporary)
            except FileExistsError:
                return  # another process was faster
        finally:
            temporary.unlink()

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UsageError(f"cannot be used as a history: {error}", self._place) from None
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", self._place) from None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            raise UsageError("no history there; `harness results add LOG` begins one", self._place)
        with self._one_line(), closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version != _VERSION:
                raise UsageError(f"is no history of format {_VERSION}; name another file", self._place)
            with database:
                yield database

    def add(self, log: Log) -> bool:
        """Add a run, or what its log has beyond what was added before. Returns whether anything changed."""
        header = log.header
        row = (header.run, header.at, header.stage, header.commit, header.config, _text(header))
        results = [
            (header.run, r.id, r.at, r.outcome.value, r.duration, _text(replace(r, text="")))
            for r in log.results.values()
        ]
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            before = database.total_changes
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            database.executemany(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at, "
                "outcome = excluded.outcome, duration = excluded.duration, record = excluded.record "
                "WHERE excluded.at > at",
                results,
            )
            return database.total_changes > before

    def newest(self) -> Run | None:
        """The run that began last, with all its results in the order of their ends."""
        with self._opened() as database:
            row = database.execute("SELECT run, header FROM runs ORDER BY at DESC, run LIMIT 1").fetchone()
            if row is None:
                return None
            records = database.execute("SELECT record FROM results WHERE run = ? ORDER BY at, test", (row[0],))
            return Run(_header(row[1]), tuple(_result(text) for (text,) in records))

    def runs_of(self, test: str) -> list[Run]:
        """All runs that have a result of this test, the newest first."""
        query = "SELECT header, record FROM results JOIN runs USING (run) WHERE test = ? ORDER BY results.at DESC"
        with self._opened() as database:
            return [Run(_header(head), (_result(text),)) for head, text in database.execute(query, (test,))]

    def tests(self) -> list[str]:
        """Every test that has a result, sorted."""
        with self._opened() as database:
            return [test for (test,) in database.execute("SELECT DISTINCT test FROM results ORDER BY test")]

    def flaky(self) -> list[Flaky]:
        """Tests that both passed and failed on one commit in one configuration, the likeliest to fail first.

        A tree without a commit, or with changes that no commit has, is the same as itself in that run only.
        """
        groups: dict[tuple[str, ...], tuple[int, int]] = {}
        query = "SELECT test, outcome, revision, config, stage, run FROM results JOIN runs USING (run)"
        with self._opened() as database:
            for test, outcome, revision, config, stage, run in database.execute(query):
                alone = run if not revision or revision.endswith("-dirty") else ""
                key = (test, revision, config, stage, alone)
                failed, passed = groups.get(key, (0, 0))
                now_failed, now_passed = _EXECUTIONS.get(outcome, (0, 0))
                groups[key] = (failed + now_failed, passed + now_passed)
        return sorted(_add_up(groups), key=lambda one: (-one.rate, one.test))

    def durations(self, stage: str = "") -> dict[str, float]:
        """Seconds that each test typically takes, of all stages or of one.

        Runs that passed tell it; for a test that never did, those that failed.
        """
        seconds: dict[str, tuple[list[float], list[float]]] = {}
        query = "SELECT test, outcome, duration FROM results JOIN runs USING (run) "
        query += "WHERE ? IN ('', stage) ORDER BY results.at"
        with self._opened() as database:
            for test, outcome, duration in database.execute(query, (stage,)):
                failed, passed = _EXECUTIONS.get(outcome, (0, 0))
                if failed or passed:
                    seconds.setdefault(test, ([], []))[passed].append(duration)
        return {test: typical(passed or failed) for test, (failed, passed) in seconds.items()}


def _add_up(groups: dict[tuple[str, ...], tuple[int, int]]) -> Iterable[Flaky]:
    found: dict[str, tuple[int, int]] = {}
    for (test, *_), (failed, passed) in groups.items():
        if failed and passed:
            before = found.get(test, (0, 0))
            found[test] = (before[0] + failed, before[1] + passed)
    return [Flaky(test, failed, passed) for test, (failed, passed) in found.items()]


def _text(record: Header | Result) -> str:
    return to_line(record).decode("ascii").rstrip("\n")


def _header(text: str) -> Header:
    return cast("Header", parse_line(text.encode("ascii")))


def _result(text: str) -> Result:
    return cast("Result", parse_line(text.encode("ascii")))
