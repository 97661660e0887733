"""What random search finds, and how short it makes it: a planted fault of each kind, some seeds each.

`python -m benchmarks.explore_finds [--seeds 1,2,3,4,5] [--fault NAME ...] [--jobs 2] [--json FILE]` runs for each
`harness explore --fault F --seed N --seconds 60 --first --jobs 2`, whole commands from start to end, and exits 1
unless at least 75 of 80 are through within 60 s and no shortest scenario is longer than the fault's reproducer.

The fault of a kind is that of the catalogue's first bug of this kind; its reproducer's length is the least number
of operations that any of its cases has, or the fault's trigger in `harness.explore`, whichever is less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import machine, say
from harness.catalogue import CatalogueEntry, load_catalogue, load_reproducer
from harness.codec import decode, dumps
from harness.explore import scenarios_for
from harness.explore.finding import Finding
from harness.files import write_atomically
from harness.reproduce import Parameters

__all__ = ["Found", "Planted", "main", "planted_faults"]

_LIMIT = 60.0  # seconds from the command's start to its end
_SHARE = 75 / 80  # of the runs that have to be within it
_SEEDS = "1,2,3,4,5"


@dataclass(frozen=True)
class Planted:
    """A fault, its kind, the bug that it is of, and the operations of that bug's shortest telling."""

    kind: str
    fault: str
    bug: str
    reproducer: int


@dataclass(frozen=True)
class Found:
    """One run. `wall` and `cpu` are seconds of the whole command, `cpu` with all its hosts.

    scenarios  judged until the find; signature: "" where nothing was found in time.
    found, minimal  operations of the two scenarios.
    """

    fault: str
    seed: int
    wall: float
    cpu: float
    scenarios: int
    signature: str = ""
    found: int = 0
    minimal: int = 0


def planted_faults() -> list[Planted]:
    """Return the fault of the first bug of each kind in the catalogue, in the order of kinds."""
    first: dict[str, CatalogueEntry] = {}
    for entry in load_catalogue():
        first.setdefault(entry.kind, entry)
    return [
        Planted(kind, entry.fault, entry.bug, _shortest_telling(entry)) for kind, entry in sorted(first.items())
    ]


def _shortest_telling(entry: CatalogueEntry) -> int:
    reproducer = load_reproducer(entry)
    cases = reproducer.cases(Parameters(workers=reproducer.workers, regimes=reproducer.regimes))
    told = [*(case.scenario for case in cases), *scenarios_for(entry.fault)]
    return min(len(scenario.operations) for scenario in told)


def _explore(fault: str, seed: int, jobs: int) -> Found:
    """Run the command and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "found.json"
        command = [
            sys.executable, "-m", "harness", "explore", "--fault", fault, "--seed", str(seed), "--seconds",
            str(_LIMIT), "--first", "--jobs", str(jobs), "--out", folder, "--json", str(results),
        ]  # fmt: skip
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  # our own command
        _, status, spent = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}")
        data = json.loads(results.read_text())
    findings = decode(list[Finding], data["findings"])
    measured = Found(fault, seed, round(wall, 1), round(spent.ru_utime + spent.ru_stime, 1), data["scenarios"])
    return measured if not findings else _with(measured, findings[0])


def _with(run: Found, finding: Finding) -> Found:
    lengths = len(finding.found.operations), len(finding.minimal.operations)
    return Found(run.fault, run.seed, run.wall, run.cpu, run.scenarios, finding.signature, *lengths)


def _table(planted: Sequence[Planted], runs: Sequence[Found]) -> Iterator[str]:
    yield "| kind | fault | after | seconds, each seed | CPU seconds | scenarios | drawn | shortest | reproducer |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in planted:
        mine = [run for run in runs if run.fault == each.fault]
        columns = [
            " ".join(f"{run.wall:.0f}" if run.signature else "-" for run in mine),
            " ".join(f"{run.cpu:.0f}" for run in mine),
            " ".join(str(run.scenarios) for run in mine),
            " ".join(str(run.found) for run in mine),
            " ".join(str(run.minimal) for run in mine),
        ]
        yield f"| {each.kind} | `{each.fault}` | {each.bug} | {' | '.join(columns)} | {each.reproducer} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default=_SEEDS)
    parser.add_argument("--fault", action="append", help="only this one of them; may be repeated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    planted = [each for each in planted_faults() if not given.fault or each.fault in given.fault]
    runs: list[Found] = []
    for each in planted:
        for seed in map(int, given.seeds.split(",")):
            runs.append(_explore(each.fault, seed, given.jobs))
            if given.json:  # after each: what an interrupted run has seen is not lost
                write_atomically(given.json, dumps({"planted": planted, "runs": runs}) + "\n")
    say(f"{machine()}, --jobs {given.jobs}\n")
    for line in _table(planted, runs):
        say(line)
    return _verdict(planted, runs)


def _verdict(planted: Sequence[Planted], runs: Sequence[Found]) -> int:
    in_time = sum(bool(run.signature) and run.wall <= _LIMIT for run in runs)
    most = {each.fault: each.reproducer for each in planted}
    longer = [run for run in runs if run.minimal > most[run.fault]]
    say(f"\n{in_time} of {len(runs)} found and made short within {_LIMIT:.0f} s; {len(longer)} longer than theirs")
    return 0 if in_time >= _SHARE * len(runs) and not longer else 1


if __name__ == "__main__":
    sys.exit(main())
