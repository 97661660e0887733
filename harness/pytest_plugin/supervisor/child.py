"""One supervised pytest process: started, waited for, ended with all that it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from harness.pytest_plugin.supervisor.system import descendants, die_with, foreground, kill_family, own_group
from harness.pytest_plugin.supervisor.tail import Tail
from harness.pytest_plugin.supervisor.task import VARIABLE, Notes, Task
from harness.pytest_plugin.supervisor.watch import Interruption, watch

__all__ = ["Command", "Ended", "run_child"]


@dataclass(frozen=True)
class Command:
    """How pytest was started, to start it again. `folder` is where."""

    words: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str

    @classmethod
    def of(cls, config: pytest.Config) -> Command:
        """The command line of this process, or `python -m pytest` when another program called pytest."""
        given = tuple(map(str, config.invocation_params.args))
        original, at = tuple(sys.orig_argv), len(sys.orig_argv) - len(given)
        words = (sys.executable, *original[1:at])
        if original[at:] != given or len(words) == 1:
            words = (sys.executable, "-m", "pytest")
        return cls(words, given, str(config.invocation_params.dir))

    def line(self, more: Sequence[str]) -> list[str]:
        """The command with more options behind its own, where they win."""
        at = self.arguments.index("--") if "--" in self.arguments else len(self.arguments)
        return [*self.words, *self.arguments[:at], *more, *self.arguments[at:]]


@dataclass(frozen=True)
class Ended:
    """How a child ended. `status` is negative for a signal; `hung`: the stacks of tests ended at their limit."""

    pid: int
    status: int
    interrupted: bool
    hung: dict[str, str]

    @property
    def cause(self) -> str:
        """The end in words."""
        if self.status < 0:
            return f"the process was ended by {signal.Signals(-self.status).name}"
        return f"the process left with status {self.status}"


def run_child(
    command: Command, more: Sequence[str], task: Task, tail: Tail, output: IO[bytes] | None = None
) -> Ended:
    """Run pytest to its end, whatever that is. `output` takes what it prints; without, it has our terminal."""
    notes = Notes(Path(task.folder))
    notes.clear()
    tail.begin()
    ours = os.getpid()
    present = set(descendants(ours))  # a conftest may have started something of its own
    with foreground(wanted=output is None) as give:

        def prepare() -> None:
            own_group()
            give(os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            die_with(ours)

        process = subprocess.Popen(  # noqa: S603  # our own command line, no shell
            command.line(more), cwd=command.folder, env={**os.environ, VARIABLE: task.dumps()},
            stdin=None if output is None else subprocess.DEVNULL, stdout=output, stderr=output,
            preexec_fn=prepare,  # the one thread of this process is here
        )  # fmt: skip
        with Interruption(process.pid) as interruption:
            process.returncode, hung = watch(process.pid, tail, notes, interruption, give)
    _end_leftovers(ours, present)
    tail.read()
    interrupted = interruption.asked or process.returncode == -signal.SIGINT
    return Ended(process.pid, process.returncode, interrupted, hung)


def _end_leftovers(ours: int, present: set[int]) -> None:
    """Kill what the child's tests left behind: orphans became ours."""
    while left := [pid for pid in descendants(ours) if pid not in present]:
        for pid in left:
            kill_family(pid)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
