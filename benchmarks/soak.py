"""Random legal operations on the healthy engine, under all predicates and probes: nothing may be violated.

`python -m benchmarks.soak --operations 200000 --seed 1 [--device cuda]` prints operations by kind and exits 1 at
the first violation, error, crash or hang, which it writes as a scenario for `harness replay`. With `--log FILE` it
runs chunk by chunk, each with a seed of its own, notes each one that held, and goes on from there the next time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.timing import machine, say
from harness.codec import decode, dumps
from harness.explore import draw_scenario
from harness.files import write_atomically
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.oracles import Judgement, examine
from harness.protocol import Description
from harness.scenario import Scenario
from harness.scenario_file import write_scenario
from harness.trace import Outcome

__all__ = ["Chunk", "Tally", "main", "read_log", "soak"]

_LENGTH = 400  # operations of a session: long enough for a row to have many owners
_RELATED_LENGTH = 60  # of one that is run again as every relation wants it
_BATCH = 16  # sessions whose traces are held at once
_CHUNK = 20_000  # operations after which the log is written: what a kill costs at most


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


@dataclass(frozen=True)
class Chunk:
    """A seed whose operations all held: how many of each kind, in which sessions, and in how many seconds."""

    seed: int
    seconds: float
    operations: dict[str, int]
    sessions: dict[str, int]
    options: dict[str, int]
    related: int


def read_log(path: Path) -> list[Chunk]:
    """Return the chunks that are done; none where there is no log yet."""
    return decode(list[Chunk], json.loads(path.read_text())) if path.exists() else []


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


def _tallies(given: argparse.Namespace) -> Iterator[Tally]:
    """Yield what each chunk showed, those of the log first; the last one may not hold."""
    done = read_log(given.log) if given.log else []
    for chunk in done:
        yield Tally(Counter(chunk.operations), Counter(chunk.sessions), Counter(chunk.options), chunk.related)
    left = given.operations - sum(sum(chunk.operations.values()) for chunk in done)
    while left > 0:
        seed, start = given.seed + len(done), time.perf_counter()
        size = min(left, _CHUNK) if given.log else left
        tally = soak(size, seed, given.device, tuple(given.fault), given.jobs)
        yield tally
        if tally.broken:
            return
        left -= tally.operations.total()
        seconds = round(time.perf_counter() - start, 1)
        done.append(Chunk(seed, seconds, tally.operations, tally.sessions, tally.options, tally.related))
        if given.log:
            write_atomically(given.log, dumps(done) + "\n")


def _summed(tallies: Iterator[Tally]) -> Tally:
    whole = Tally()
    for tally in tallies:
        for name in ("operations", "sessions", "options"):
            getattr(whole, name).update(getattr(tally, name))
        whole.related += tally.related
        whole.device, whole.broken = tally.device or whole.device, tally.broken
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print the tally; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1, help="the first chunk's; the next ones follow it")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, help="hosts side by side; by default one a core, and one on a GPU")
    parser.add_argument("--fault", action="append", default=[], help="seed a defect, to see that it is found")
    parser.add_argument("--log", type=Path, help="note each chunk that held here, and go on behind those")
    parser.add_argument("--save", type=Path, default=Path("soak-violation.yml"))
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    tally = _summed(_tallies(given))
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
