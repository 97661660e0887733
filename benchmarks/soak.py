"""Random legal operations on the healthy engine, under all predicates and probes: nothing may be violated.

`python -m benchmarks.soak --operations 200000 --seed 1 [--device cuda]` prints operations by kind and exits 1 at
the first violation, error, crash or hang, which it writes as a scenario for `harness replay`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.timing import machine, say
from harness.explore import draw_scenario
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.protocol import Description
from harness.scenario import Scenario
from harness.scenario_file import write_scenario
from harness.trace import Outcome, Trace

__all__ = ["Tally", "soak"]

_LENGTH = 400  # operations of a session: long enough for a row to have many owners
_BATCH = 16  # sessions whose traces are held at once


@dataclass
class Tally:
    """What was run, and the first run that did not hold."""

    operations: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    device: str = ""
    broken: Trace | None = None

    def add(self, trace: Trace) -> None:
        """Count one session, up to where it ended."""
        self.device = trace.device
        self.sessions[trace.scenario.config.worker] += 1
        self.operations.update(op.name for op in trace.scenario.operations[: len(trace.snapshots)])
        if trace.outcome is not Outcome.OK and self.broken is None:
            self.broken = trace


def soak(operations: int, seed: int, device: str) -> Tally:
    """Run sessions until so many operations are done, or one does not hold."""
    tally = Tally()
    with Launcher("embedded", device) as launcher:
        target = launcher.describe()
        for batch in _batches(operations, seed, target):
            for _, trace in launcher.run_all([Run(scenario, Monitor(scenario)) for scenario in batch]):
                tally.add(trace)
            if tally.broken:
                break
    return tally


def _batches(operations: int, seed: int, target: Description) -> Iterator[list[Scenario]]:
    sessions = -(-operations // _LENGTH)
    for start in range(0, sessions, _BATCH):
        numbers = range(start, min(start + _BATCH, sessions))
        yield [
            draw_scenario(seed * 1_000_003 + number, _LENGTH, target.operations, target.options)
            for number in numbers
        ]


def _shortened(trace: Trace) -> Scenario:
    """Return the scenario up to and with the operation in which it ended."""
    end = len(trace.scenario.operations) if trace.at is None else trace.at + 1
    return replace(trace.scenario, operations=trace.scenario.operations[:end])


def _main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--save", type=Path, default=Path("soak-violation.yml"))
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    tally = soak(given.operations, given.seed, given.device)
    seconds = time.perf_counter() - start
    say(f"{machine()}; {tally.device}; seed {given.seed}; {seconds:.0f} s\n")
    say("| operation | times |\n|---|---|")
    for name, count in tally.operations.most_common():
        say(f"| {name} | {count} |")
    told = ", ".join(f"{count} {worker}" for worker, count in sorted(tally.sessions.items()))
    say(f"\n{tally.operations.total()} operations in {tally.sessions.total()} sessions ({told})")
    if tally.broken is None:
        say("every invariant holds")
        return 0
    write_scenario(_shortened(tally.broken), given.save)
    first = tally.broken.violations[0].message if tally.broken.violations else tally.broken.detail
    say(f"{tally.broken.outcome.value} in {tally.broken.where()}: {first}\nharness replay {given.save}")
    return 1


if __name__ == "__main__":
    sys.exit(_main())
