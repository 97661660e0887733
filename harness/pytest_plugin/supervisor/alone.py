"""Tests in a process of their own: those that ask for it, and failures once more."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.pytest_plugin.supervisor.blame import judge, record
from harness.pytest_plugin.supervisor.child import Command, run_child
from harness.pytest_plugin.supervisor.closing import Closing
from harness.pytest_plugin.supervisor.tail import Tail
from harness.pytest_plugin.supervisor.task import Notes, Task
from harness.results.log import read_log
from harness.results.records import Result, Word
from harness.results.summary import group_failures

__all__ = ["Alone"]

_CONFIRMED = frozenset({Word.FAILED, Word.ERROR, Word.CRASHED, Word.HUNG})
_MOST = 20  # failures that are confirmed: after so many it is the tree that is broken


class Alone:
    """Runs single tests, each in a process that runs nothing else, and puts their results into the run's log."""

    def __init__(self, config: pytest.Config, command: Command, notes: Notes, log: Path, closing: Closing) -> None:
        self._command, self._notes, self._log, self._closing = command, notes, log, closing
        self._folder = notes.folder.parent
        self._confirms = not config.getoption("--no-confirm", default=False)
        self._options = ["--shard=1/1", "--junit-xml=", "--color=no"]
        if config.getoption("numprocesses", default=None) is not None:
            self._options.append("-n0")

    def run(self, tests: Iterable[str]) -> bool:
        """Run each; return whether a person interrupted."""
        for test in tests:
            result = self._run(test, 1)
            if result is None:
                return True
            record(self._log, [result])
            self._closing.say(f"{test} in a process of its own: {result.outcome.value}")
        return False

    def confirm(self) -> bool:
        """Run each failure once more: what then passes is flaky. Return whether a person interrupted."""
        log = read_log(self._log) if self._confirms else None
        failures = _worth_confirming(log.results.values() if log else ())
        for first in failures[:_MOST]:
            second = self._run(first.id, 2)
            if second is None:
                return True
            if second.outcome is Word.PASSED:
                message = f"{first.outcome.value} at first: {first.message}"
                second = replace(second, outcome=Word.FLAKY, message=message, text=first.text)
                second = replace(second, signature=first.signature, replay=first.replay)
            record(self._log, [second])
            self._closing.say(f"{first.id} {first.outcome.value}, once more: {second.outcome.value}")
        if len(failures) > _MOST:
            self._closing.say(f"{len(failures) - _MOST} more failures are not confirmed")
        return False

    def _run(self, test: str, attempt: int) -> Result | None:
        log = self._folder / "alone.jsonl"
        log.unlink(missing_ok=True)
        tail = Tail(log)
        task = Task(str(self._notes.folder), alone=test)
        with (self._folder / "alone.txt").open("w+b") as output:
            ended = run_child(self._command, [f"--results={log}", *self._options], task, tail, output)
            if ended.interrupted:
                return None
            blame = judge(ended, tail, self._notes)
            output.seek(0)
            printed = output.read().decode(errors="replace")
        results: list[Result] = [*tail.results, *(blame.results if blame else ())]
        for result in reversed(results):
            if result.id == test:
                return replace(result, attempt=attempt)
        message = f"no result: {ended.cause}"
        return Result(test, Word.ERROR, time.time(), message=message, text=printed, attempt=attempt)


def _worth_confirming(results: Iterable[Result]) -> list[Result]:
    """The failures of a first attempt, one of each signature before all others."""
    wanted = [one for one in results if one.outcome in _CONFIRMED and one.attempt == 1 and one.phase != "collect"]
    first, more = [], []
    for group in group_failures(wanted).values():
        first.append(group[0])
        more += group[1:]
    return first + more
