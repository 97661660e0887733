"""Waiting for a supervised process: its deadlines, the terminal's keys, and signals that are meant for it."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

from harness.pytest_plugin.supervisor.system import STACKS_SIGNAL, descendants, frozen, kill_family
from harness.pytest_plugin.supervisor.tail import Tail
from harness.pytest_plugin.supervisor.task import Notes
from harness.results.records import Started

__all__ = ["Interruption", "watch"]

_LOOK = 0.25  # seconds between two looks at the deadlines
_REPORT = 15.0  # seconds that an interrupted pytest has for its report
_STACKS = 2.0  # seconds that a hung process has to write its stacks
_NATIVE = 10.0  # seconds that py-spy has


class Interruption:
    """Hands signals that should end the run to the child as the one on which pytest writes its report."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since = 0.0
        self._before: list[tuple[int, object]] = []

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before.append((number, signal.signal(number, self._take)))
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() itself returned

    def _take(self, *_: object) -> None:
        if self._since:  # whoever asks twice does not want to wait
            kill_family(self._pid)
        self._since = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)

    @property
    def asked(self) -> bool:
        """Whether the run should end."""
        return self._since > 0

    @property
    def is_late(self) -> bool:
        """Whether the child had its time and is still there."""
        return self.asked and time.monotonic() > self._since + _REPORT


def watch(
    pid: int, tail: Tail, notes: Notes, interruption: Interruption, give: Callable[[int], None]
) -> tuple[int, dict[str, str]]:
    """Wait for a child. Return (its status, what was ended beyond its limit with its stacks)."""
    hung: dict[str, str] = {}
    handle = os.pidfd_open(pid)
    try:
        while (status := _status(pid, give)) is None:
            select.select([handle], [], [], _LOOK)
            tail.read()
            if not notes.read("debugging"):
                for started in tail.overdue():
                    stacks = _stop(started, pid, notes, tail)
                    hung |= {started.id: stacks} if stacks is not None else {}
            # A controller that has missed the death of its last worker waits for ever.
            if interruption.is_late or (tail.stalls and not descendants(pid)):
                kill_family(pid)
    finally:
        os.close(handle)
    return status, hung


def _status(pid: int, give: Callable[[int], None]) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    if not done:
        return None
    if not os.WIFSTOPPED(status):
        return os.waitstatus_to_exitcode(status)
    if os.WSTOPSIG(status) == signal.SIGTSTP:  # Ctrl-Z: stop with it, and go on with it
        give(os.getpgrp())
        os.kill(os.getpid(), signal.SIGSTOP)
        give(pid)
        os.killpg(pid, signal.SIGCONT)
    return None


def _stop(started: Started, child: int, notes: Notes, tail: Tail) -> str | None:
    """End the process in which a test hangs, and return the stacks that it showed before.

    None where the test went on after all: the signal for the stacks may be what woke it.
    """
    pid = started.pid if started.pid in descendants(child) else child
    stacks = _python_stacks(pid, notes)
    if native := _native_stacks(pid):
        stacks = f"{stacks}\n{native}"
    with frozen(pid):
        tail.read()
        if not tail.still_runs(started):
            return None
        notes.write("hung", f"{started.limit:g}\n{started.id}\n{stacks}", pid)  # before xdist sees its worker die
        kill_family(pid)
    return stacks


def _python_stacks(pid: int, notes: Notes) -> str:
    path = notes.path("stacks", pid)
    if not path.exists():
        return ""
    before = path.stat().st_size
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, STACKS_SIGNAL)
    patience = time.monotonic() + _STACKS
    size = before
    while time.monotonic() < patience and not (path.stat().st_size == size > before):
        size = path.stat().st_size
        time.sleep(0.02)  # written by the other process's signal handler: there is nothing to wait on
    return path.read_bytes()[before:].decode(errors="replace")


def _native_stacks(pid: int) -> str:
    """What py-spy shows, where it is installed and ptrace is allowed."""
    program = shutil.which("py-spy")
    if program is None:
        return ""
    command = [program, "dump", "--native", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(  # noqa: S603  # a fixed command
            command, capture_output=True, text=True, timeout=_NATIVE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
