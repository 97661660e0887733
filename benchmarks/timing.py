"""Whole commands timed side by side in one run, so that a machine's drift meets both alike."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Spent", "machine", "say", "side_by_side", "spent_in_turn", "table"]


class Spent(NamedTuple):
    """Seconds of one command: on the clock, and of processors by it and all that it started and waited for.

    On a machine with other work the second one moves little.
    """

    wall: float
    cpu: float


def spent_in_turn(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, list[Spent]]:
    """Run the commands in turn, `repeats` rounds after one that does not count; return all rounds of each."""
    rounds: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            spent = _spent(command)
            if turn:
                rounds[name].append(spent)
    return rounds


def _spent(command: Sequence[str]) -> Spent:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # our own commands
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def side_by_side(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, float]:
    """Return median wall seconds of commands that run in turn."""
    rounds = spent_in_turn(commands, repeats)
    return {name: statistics.median(one.wall for one in spent) for name, spent in rounds.items()}


def machine() -> str:
    """Return what a reader needs to judge a figure: processor, cores, Python."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, Python {platform.python_version()}"


def table(rows: Sequence[tuple[str, float, float]], base: str) -> str:
    """Return Markdown rows of (what, seconds, ratio to the base)."""
    lines = [f"| what | seconds | times {base} |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {seconds:.3f} | {ratio:.2f} |" for what, seconds, ratio in rows)])


def say(text: str) -> None:
    """Print a line at once, so that a long run shows how far it is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
