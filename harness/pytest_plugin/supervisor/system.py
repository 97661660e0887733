"""What the operating system is asked for: families of processes, and the terminal."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = [
    "STACKS_SIGNAL",
    "adopt_orphans",
    "close_in_forks",
    "descendants",
    "die_with",
    "foreground",
    "frozen",
    "kill_family",
    "open_pipes",
    "own_group",
]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# On this a supervised process writes its Python stacks. A real-time signal is the least likely to be a test's.
STACKS_SIGNAL = getattr(signal, "SIGRTMAX", signal.SIGUSR2)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies, by SIGKILL too (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, daemons included (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def own_group() -> None:
    """Make this process the leader of its own process group, unless it is one already."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)


def open_pipes() -> set[int]:
    """Return this process's descriptors of pipes, beside those of input and output."""
    pipes = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of the folder itself is gone
            if int(path.name) > 2 and str(path.readlink()).startswith("pipe:"):
                pipes.add(int(path.name))
    return pipes


def close_in_forks(descriptors: set[int]) -> None:
    """Close these descriptors in every process that is forked from this one."""

    def close() -> None:
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    os.register_at_fork(after_in_child=close)


def descendants(pid: int) -> list[int]:
    """Return all processes below `pid`; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):  # it is gone
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found: list[int] = []
    below = [pid]
    while below:
        below = [child for parent in below for child in children.get(parent, ())]
        found += below
    return found


def kill_family(pid: int) -> None:
    """Kill a process, its group when it leads one, and all that descends from it."""
    family = [pid, *descendants(pid)]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    for member in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, signal.SIGKILL)


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Keep a process from doing anything meanwhile."""
    state = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    for _ in range(100):  # the signal takes its time to arrive
        try:
            if state.read_text(errors="replace").rpartition(")")[2].split()[0] in "TtZX":
                break
        except OSError:  # it is gone
            break
        time.sleep(0.001)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def foreground(*, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that gives the terminal to a process group; in the end it is ours again.

    It does nothing where that is not wanted, or standard input is no terminal, or not ours to give.
    """
    try:
        ours = wanted and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        ours = False
    if not ours:
        yield lambda _: None
        return

    def give(group: int) -> None:
        with contextlib.suppress(OSError):  # the group is gone
            os.tcsetpgrp(0, group)

    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # else the kernel stops whoever takes it back
    try:
        yield give
    finally:
        give(os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
