"""The matrix of faults and oracles on a CPU and on CUDA with captured graphs: the same first violations?

`python -m benchmarks.matrix_cuda_equals_cpu [--jobs 4] [--json FILE]` prints a line a row that differs, then a
summary, and exits 1 unless every fault is caught on both, by the same oracle in the same place, and the healthy
engine holds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import machine, say
from harness.codec import dumps
from harness.explore import Row, run_matrix
from harness.files import write_atomically
from harness.launch import Launcher

__all__ = ["difference"]


def difference(left: Row, right: Row) -> str:
    """Return how the first violations of one fault differ, "" where they are the same one."""
    seen, other = _first(left), _first(right)
    return "" if seen == other else f"{left.fault or 'healthy engine'}: {seen} and {other}"


def _first(row: Row) -> str:
    if not row.catches:
        return row.unsupported or "nothing"
    first = row.catches[0]
    place = f"{first.scenario}, operation {first.operation}, {first.told}"
    return f"{first.invariant} {first.rule} {first.buffer} ({first.oracle}) in {place}"


def _rows(device: str, jobs: int) -> tuple[list[Row], float]:
    start = time.perf_counter()
    with Launcher("embedded", device, jobs=jobs) as launcher:
        rows = run_matrix(launcher)
    return rows, time.perf_counter() - start


def _main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    # CUDA first: where there is none, nothing is run in vain.
    right, right_seconds = _rows("cuda", given.jobs)
    left, left_seconds = _rows("cpu", given.jobs)
    differences = [told for pair in zip(left, right, strict=True) if (told := difference(*pair))]
    caught = [sum(bool(row.fault) and row.holds for row in rows) for rows in (left, right)]
    holds = all(row.holds for row in (*left, *right))
    for told in differences:
        say(told)
    say(f"{machine()}; {left_seconds:.0f} s on the CPU, {right_seconds:.0f} s on CUDA")
    healthy = "holds on both" if left[0].holds and right[0].holds else "VIOLATED"
    say(f"caught: {caught[0]} and {caught[1]} of {len(left) - 1} faults; healthy engine: {healthy}")
    say(f"same first violation: {len(left) - len(differences)} of {len(left)} rows")
    if given.json:
        write_atomically(given.json, dumps({"cpu": left, "cuda": right}) + "\n")
    return 0 if holds and not differences else 1


if __name__ == "__main__":
    sys.exit(_main())
