"""A released engine on a CPU (tapes, interpreted kernels) and CUDA (graphs, compiled kernels): the same drafts?

`python -m benchmarks.released_on_cuda TARGET SOURCE OUT.json [--device cuda] [--jobs N] [--against CPU.json]` runs
the catalogue's bugs, a few cases each, and every planted fault; it writes verdicts and hashes of all that was
drafted, and exits 1 unless those of the bugs are those of `--against`, and the same faults show. A fault may be
told by another invariant there: an interpreted kernel is watched, a compiled one is not.
SOURCE is a fetched version, or a folder with the engine's package in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import say
from harness.catalogue import load_catalogue, load_reproducer
from harness.explore.versions import few_cases
from harness.fetching import resolve_fetched
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.reproduce import reproduce
from harness.scenario import WORKERS, Config, Scenario
from harness.trace import Outcome
from repro_cases.stories import captures, sweep

__all__ = ["compared", "measured"]

_SEATS = 5
_RAISED = (Outcome.ERROR, Outcome.CRASH, Outcome.HANG)

# "bug worker regime" or "fault worker" -> (verdict, hash of drafts, signature or what was raised)
Told = dict[str, tuple[str, str]]


def measured(launcher: Launcher) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield a name and what it showed: each bug's cases, then each worker with each planted fault."""
    for entry in load_catalogue():
        reproducer = load_reproducer(entry)
        for result in reproduce(reproducer, few_cases(reproducer), launcher):
            case = result.case
            shown = result.detail if result.outcome in _RAISED else result.drafted
            yield f"{entry.bug} {case.worker} {case.regime}", (result.word, shown)
    for worker in WORKERS:
        config = Config(worker, _SEATS, _SEATS, (1, 2, 4))
        scenario = Scenario(config, (*captures((2, 4, 1), "bucket"), *sweep(config)))
        faults = tuple(launcher.describe().faults)
        runs = [Run(scenario, Monitor(scenario), (fault,)) for fault in faults]
        for index, trace in launcher.run_all(runs):
            first = trace.violations[0].signature if trace.violations else trace.detail.partition(" [")[0]
            yield f"{faults[index]} {worker}", (trace.outcome.value, first)


def compared(here: Told, there: Told) -> list[str]:
    """Return a line for each name that does not show the same on both devices: of a fault, whether it shows."""
    lines = []
    for name, (verdict, shown) in here.items():
        other = tuple(there.get(name, ("", "")))
        bug = len(name.split()) == 3
        if (verdict, shown) != other if bug else bool(shown) != bool(other[1]):
            lines.append(f"{name}: {verdict} {shown}, elsewhere {' '.join(other) or 'not run'}")
    return lines


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("source")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    told: Told = {}
    start = time.monotonic()
    folder = Path(given.source)
    source = str(folder if folder.is_dir() else resolve_fetched(given.target, given.source))
    with Launcher(given.target, given.device, source=source, limit=300.0, jobs=given.jobs) as launcher:
        for name, shown in measured(launcher):
            told[name] = shown
            say(f"{name}: {shown[0]} {shown[1]}")
    given.out.write_text(json.dumps(told, indent=1) + "\n")
    differences = compared(told, json.loads(given.against.read_text())) if given.against else []
    for line in differences:
        say(line)
    say(f"{len(told)} parts in {time.monotonic() - start:.0f} s, {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(_main())
