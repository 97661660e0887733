"""Ways of doing the same thing timed in turn in one run, so that a machine's drift meets all alike."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "Spent",
    "facts",
    "in_turn",
    "machine",
    "median",
    "now",
    "processor_time_of",
    "say",
    "spent_in_turn",
    "told_in_turn",
]


class Spent(NamedTuple):
    """Seconds: on the clock, and of processors by this process and all that it started and waited for.

    On a machine with other work the second one moves little.
    """

    wall: float
    cpu: float

    def less(self, other: Spent) -> Spent:
        """Return what this one took beyond `other`."""
        return Spent(self.wall - other.wall, self.cpu - other.cpu)

    def each(self, parts: int) -> Spent:
        """Return the share of one of so many."""
        return Spent(self.wall / parts, self.cpu / parts)


def now() -> Spent:
    """Return both clocks; the difference of two readings is what was spent between them."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return Spent(time.perf_counter(), used)


def in_turn(ways: Mapping[str, Callable[[], object]], repeats: int, warm: int = 1) -> dict[str, list[Spent]]:
    """Call each way in turn, `repeats` rounds after `warm` that do not count; return all rounds of each."""
    return told_in_turn({name: partial(_timed, way) for name, way in ways.items()}, repeats, warm)


def _timed(way: Callable[[], object]) -> Spent:
    start = now()
    way()
    return now().less(start)


def told_in_turn(ways: Mapping[str, Callable[[], Spent]], repeats: int, warm: int = 1) -> dict[str, list[Spent]]:
    """Do the same with ways that tell what counts of their time."""
    rounds: dict[str, list[Spent]] = {name: [] for name in ways}
    for turn in range(repeats + warm):
        for name, way in ways.items():
            spent = way()
            if turn >= warm:
                rounds[name].append(spent)
    return rounds


def spent_in_turn(commands: Mapping[str, Sequence[str]], repeats: int, warm: int = 1) -> dict[str, list[Spent]]:
    """Run whole commands in turn; each must end with 0."""
    return in_turn({name: partial(_run, command) for name, command in commands.items()}, repeats, warm)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  # our own commands
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")


def median(rounds: Sequence[Spent]) -> Spent:
    """Return the medians of both clocks, each by itself."""
    return Spent(statistics.median(one.wall for one in rounds), statistics.median(one.cpu for one in rounds))


def processor_time_of(pid: int) -> float:
    """Return the processor seconds of another process of this user; the clock id is clock_getcpuclockid's."""
    return time.clock_gettime((~pid << 3) | 2)


def facts() -> dict[str, str]:
    """Return what a reader needs to judge a figure: processor, cores, system, versions."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kernel = platform.release().partition("-")[0]  # without what its builder called it
    found = {
        "processor": model, "cores": str(cores), "system": f"{platform.system()} {kernel}",
        "Python": platform.python_version(),
    }  # fmt: skip
    for package in ("torch", "pytest"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def machine() -> str:
    """Return the most important of these facts in a line."""
    known = facts()
    return f"{known['processor']}, {known['cores']} cores, Python {known['Python']}"


def say(text: str) -> None:
    """Print a line at once, so that a long run shows how far it is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
