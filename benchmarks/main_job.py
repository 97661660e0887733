"""The whole main job against bare `import torch`, and its parts: `python -m benchmarks.main_job [REPEATS]`."""

from __future__ import annotations

import sys
import time

from benchmarks.timing import machine, say, side_by_side, table
from harness.catalogue import find_bug, load_reproducer
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.reproduce import Parameters

__all__: list[str] = []


def _parts() -> list[tuple[str, float]]:
    """Return seconds of what the job consists of, measured once in this process."""
    reproducer = load_reproducer(find_bug("6535874"))
    parameters = Parameters(regimes=("exact", "production", "headroom", "unset"))
    cases = list(reproducer.cases(parameters))
    start = time.perf_counter()
    with Launcher() as launcher:
        launcher.describe()
        started = time.perf_counter()
        one = Run(cases[0].scenario, Monitor(cases[0].scenario))
        launcher.run(one)
        warm = time.perf_counter()
        launcher.run(one)
        single = time.perf_counter()
        ended = sum(1 for _ in launcher.run_all([Run(c.scenario, Monitor(c.scenario)) for c in cases]))
        done = time.perf_counter()
    return [
        ("hosts start (import torch, rehearsal)", started - start),
        ("layouts and a first case", warm - started),
        ("one case alone", single - warm),
        (f"{ended} cases on all cores", done - single),
    ]


def main(repeats: int) -> None:
    """Print both."""
    commands = {
        "python -c 'import torch'": [sys.executable, "-W", "ignore", "-c", "import torch"],
        "harness repro 6535874": [sys.executable, "-m", "harness", "repro", "6535874"],
    }
    median = side_by_side(commands, repeats)
    base = median["python -c 'import torch'"]
    say(f"{machine()}; medians of {repeats}\n")
    say(table([(name, seconds, seconds / base) for name, seconds in median.items()], "import torch"))
    say("")
    say(table([(name, seconds, seconds / base) for name, seconds in _parts()], "import torch"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
