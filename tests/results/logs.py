"""Logs for tests, made without pytest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.results.log import LogWriter
from harness.results.records import Header, Plan, Result, Word, selection_digest

__all__ = ["make_log", "result"]


def result(test: str, outcome: Word = Word.PASSED, at: float = 10.0, duration: float = 1.0) -> Result:
    signature = "assert 0" if outcome is Word.FAILED else ""
    return Result(test, outcome, at, duration, signature=signature)


def make_log(
    path: Path,
    results: list[Result],
    *,
    plan: list[str] | None = None,
    selected: list[str] | None = None,
    end: bool = True,
    deselected: int = 0,
    **header: Any,
) -> str:
    """Write a log with one session and return its path. What it had to run is what it ran, unless `plan` says."""
    tests = [one.id for one in results] if plan is None else plan
    every = tests if selected is None else selected
    values: dict[str, Any] = {"run": path.stem, "session": 1, "at": 5.0, "commit": "abc", **header}
    writer = LogWriter(path)
    writer.write(Header(**values))
    writer.write(Plan(tuple(tests), len(every), selection_digest(every)))
    for one in results:
        writer.write(one)
    writer.end(0, {"deselected": deselected}) if end else writer.close()
    return str(path)
