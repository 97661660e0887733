"""Random legal operations on the healthy engine, under all predicates and probes: nothing may be violated.

`python -m benchmarks.soak --operations 200000 --seed 1 [--device cuda]` prints operations by kind and exits 1 at
the first violation, error, crash or hang, which it writes as a scenario for `harness replay`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.timing import machine, say
from harness.explore import draw_scenario
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.oracles import Judgement, examine
from harness.protocol import Description
from harness.scenario import Scenario
from harness.scenario_file import write_scenario
from harness.trace import Outcome

__all__ = ["Tally", "main", "soak"]

_LENGTH = 400  # operations of a session: long enough for a row to have many owners
_RELATED_LENGTH = 60  # of one that is run again as every relation wants it
_BATCH = 16  # sessions whose traces are held at once


@dataclass
class Tally:
    """What was run, and the first run that did not hold."""

    operations: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    options: Counter[str] = field(default_factory=Counter)
    related: int = 0
    device: str = ""
    broken: Judgement | None = None

    def add(self, judged: Judgement) -> None:
        """Count one session, up to where it ended."""
        trace = judged.trace
        self.device = trace.device
        self.sessions[trace.scenario.config.worker] += 1
        self.options.update(trace.scenario.config.options)
        self.operations.update(op.name for op in trace.scenario.operations[: len(trace.snapshots)])
        if self.broken is None and (judged.violations or trace.outcome is not Outcome.OK):
            self.broken = judged


def soak(
    operations: int, seed: int, device: str = "cpu", faults: tuple[str, ...] = (), jobs: int | None = None
) -> Tally:
    """Run sessions until so many operations are done, or one does not hold; `jobs` hosts, None for the default."""
    tally = Tally()
    with Launcher("embedded", device, jobs=jobs) as launcher:
        drawn = partial(_drawn, seed, launcher.describe())
        sessions = -(-operations // _LENGTH)
        for start in range(0, sessions, _BATCH):
            batch = [drawn(number, _LENGTH) for number in range(start, min(start + _BATCH, sessions))]
            for _, trace in launcher.run_all([Run(scenario, Monitor(scenario), faults) for scenario in batch]):
                tally.add(Judgement(trace, trace.violations))
            tally.add(examine(launcher, drawn(sessions + start, _RELATED_LENGTH), faults))
            tally.related += 1
            if tally.broken:
                break
    return tally


def _drawn(seed: int, target: Description, number: int, length: int) -> Scenario:
    return draw_scenario(seed * 1_000_003 + number, length, target.operations, target.options)


def _shortened(broken: Judgement) -> Scenario:
    """Return the scenario up to and with the operation in which it broke."""
    scenario = broken.trace.scenario
    at = broken.violations[0].operation if broken.violations else broken.trace.at
    return scenario if at is None else replace(scenario, operations=scenario.operations[: at + 1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print the tally; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, help="hosts side by side; by default one a core, and one on a GPU")
    parser.add_argument("--fault", action="append", default=[], help="seed a defect, to see that it is found")
    parser.add_argument("--save", type=Path, default=Path("soak-violation.yml"))
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    tally = soak(given.operations, given.seed, given.device, tuple(given.fault), given.jobs)
    seconds = time.perf_counter() - start
    say(f"{machine()}; {tally.device}; seed {given.seed}; {seconds:.0f} s\n")
    say("| operation | times |\n|---|---|")
    for name, count in tally.operations.most_common():
        say(f"| {name} | {count} |")
    told = ", ".join(f"{count} {name}" for name, count in sorted((tally.sessions + tally.options).items()))
    say(f"\n{tally.operations.total()} operations in {tally.sessions.total()} sessions ({told}),")
    say(f"{tally.related} of them under all relations too")
    if tally.broken is None:
        say("every invariant holds")
        return 0
    write_scenario(_shortened(tally.broken), given.save)
    trace, violations = tally.broken.trace, tally.broken.violations
    first = f"{violations[0].invariant}: {violations[0].message}" if violations else trace.detail
    seeded = "".join(f" --fault {name}" for name in given.fault)
    say(f"{trace.outcome.value} in {trace.where()}: {first}\nharness replay {given.save}{seeded}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
