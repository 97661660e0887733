"""A released SGLang on a CPU (tapes, interpreted kernels) and CUDA (graphs, compiled kernels): the same drafts?

`python -m benchmarks.sglang_on_cuda SOURCE OUT.json [--device cuda] [--against CPU.json]` runs the catalogue's
bugs, a few cases each, and every planted fault; it writes verdicts and hashes of all that was drafted, and exits 1
unless they are those of `--against`. SOURCE is a fetched release, or a folder with `sglang/` in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.catalogue import load_catalogue, load_reproducer
from harness.cli._launch import find_source
from harness.explore.versions import few_cases
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.reproduce import reproduce
from harness.scenario import WORKERS, Config, Scenario
from harness.trace import Outcome
from repro_cases.stories import captures, sweep

__all__ = ["compared", "measured"]

_SEATS = 5
_RAISED = (Outcome.ERROR, Outcome.CRASH, Outcome.HANG)

# name -> (verdict, hash, signature or what was raised)
Told = dict[str, tuple[str, str]]


def measured(source: str, device: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield a name and what it showed: each bug's cases, then each worker with each planted fault."""
    with Launcher("sglang", device, source=source, limit=300.0) as launcher:
        for entry in load_catalogue():
            reproducer = load_reproducer(entry)
            for result in reproduce(reproducer, few_cases(reproducer), launcher):
                case = result.case
                shown = result.detail if result.outcome in _RAISED else result.drafted
                yield f"{entry.bug} {case.worker} {case.regime}", (result.word, shown)
        for worker in WORKERS:
            config = Config(worker, _SEATS, _SEATS, (1, 2, 4))
            scenario = Scenario(config, (*captures((2, 4, 1), "bucket"), *sweep(config)))
            for fault in launcher.describe().faults:
                trace = launcher.run(Run(scenario, Monitor(scenario), (fault,)))
                first = trace.violations[0].signature if trace.violations else trace.detail.partition(" [")[0]
                yield f"{fault} {worker}", (trace.outcome.value, first)


def compared(here: Told, there: Told) -> list[str]:
    """Return a line for each name that does not show the same on both devices. Faults may be told otherwise."""
    lines = []
    for name, (verdict, drafted) in here.items():
        other = there.get(name)
        bug = len(name.split()) == 3
        if other is None or (bug and (verdict, drafted) != tuple(other)):
            lines.append(f"{name}: {verdict} {drafted}, elsewhere {other}")
    return lines


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    told: Told = {}
    start = time.monotonic()
    for name, shown in measured(find_source("sglang", given.source), given.device):
        told[name] = shown
        print(f"{name}: {shown[0]} {shown[1]}", flush=True)  # noqa: T201  # a command's output
    given.out.write_text(json.dumps(told, indent=1) + "\n")
    differences = compared(told, json.loads(given.against.read_text())) if given.against else []
    seconds = time.monotonic() - start
    print("\n".join([*differences, f"{len(told)} parts in {seconds:.0f} s, {len(differences)} differ"]))  # noqa: T201
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(_main())
