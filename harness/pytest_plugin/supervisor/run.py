"""A supervised run: all tests in one process after the other, then some in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.supervisor.alone import Alone
from harness.pytest_plugin.supervisor.blame import Blame, judge, record
from harness.pytest_plugin.supervisor.child import Command, run_child
from harness.pytest_plugin.supervisor.closing import Closing
from harness.pytest_plugin.supervisor.system import adopt_orphans
from harness.pytest_plugin.supervisor.tail import Tail
from harness.pytest_plugin.supervisor.task import Notes, Task
from harness.results.log import read_log

__all__ = ["SupervisedRun"]

_STERILE = 2  # sessions in a row that tell nothing at all
_DEADLY = 20  # sessions in a row of which each died of its first test
_BROKEN = 3  # the same, where pytest itself failed or was told to leave: a plugin breaks, or a target is not there
_INTERNAL_ERROR = 3


class SupervisedRun:
    """One command line, run to its end whatever its tests do.

    run_session   pytest with all that has no result, again and again until one comes to its own end.
    """

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._log = Path(config.invocation_params.dir, config.getoption("--results"))
        self._notes = Notes(folder / "notes")
        self._notes.folder.mkdir()
        self._command = Command.of(config)
        self._tail = Tail(self._log)
        self._first = _sessions(self._log) + 1
        self._closing = Closing(config, self._log, self._first)
        self._alone = Alone(config, self._command, self._notes, self._log, self._closing)
        self._apart: dict[str, None] = {}
        self._broken: tuple[str, ...] = ()

    def run(self) -> int:
        """Return the exit status of the whole run."""
        adopt_orphans()
        status, interrupted = self._run_all()
        if not interrupted and status != pytest.ExitCode.USAGE_ERROR:
            interrupted = self._alone.run(self._apart)
            failed = status == pytest.ExitCode.TESTS_FAILED or self._closing.said
            interrupted = interrupted or (failed and self._alone.confirm())
        return self._closing.close(pytest.ExitCode.INTERRUPTED if interrupted else status)

    def _run_all(self) -> tuple[int, bool]:
        sterile = deadly = 0
        again = False
        while True:
            task = Task(str(self._notes.folder), "", tuple(self._apart), self._first, self._broken)
            ended = run_child(self._command, self._closing.options(again), task, self._tail)
            blame = judge(ended, self._tail, self._notes)
            self._note_apart()
            if blame is None:
                return ended.status, ended.interrupted
            again = bool(self._tail.headers)
            gained = len(self._tail.results)
            self._take(blame)
            sterile = 0 if gained or blame.results or blame.suspects else sterile + 1
            deadly = 0 if gained else deadly + 1
            most = _BROKEN if self._notes.read("broken") or self._notes.read("exit") else _DEADLY
            if not again or sterile >= _STERILE or deadly >= most:
                told = f"no progress: {blame.told or ended.cause}; results so far are in the log"
                self._closing.say(told, after_a_death=True)
                return _INTERNAL_ERROR, False
            self._closing.say(f"{blame.told}; going on with the rest", after_a_death=True)

    def _note_apart(self) -> None:
        for text in self._notes.read("apart").values():
            self._apart |= dict.fromkeys(filter(None, text.split("\n")))

    def _take(self, blame: Blame) -> None:
        record(self._log, blame.results)
        self._broken += blame.broken
        self._apart |= dict.fromkeys(blame.suspects)


def _sessions(path: Path) -> int:
    """How many sessions a log has. What is wrong with it is for the session that goes on from it to say."""
    try:
        log = read_log(path)
    except HarnessError:
        return 0
    return len(log.sessions) if log else 0
