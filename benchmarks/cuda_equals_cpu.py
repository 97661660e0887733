"""The main job on a CPU and on CUDA, with the fault and without: the same cells, the same drafted tokens?

`python -m benchmarks.cuda_equals_cpu [--orders all|sample:N]` prints a table and exits 1 at a difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.orders import DEFAULT_BUCKETS, parse_orders
from harness.reproduce import Parameters, reproduce
from harness.verdicts import CaseResult

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """How two runs of the same cases agree: `verdicts` and `drafts` count cases that do."""

    cases: int
    verdicts: int
    drafts: int
    words: dict[str, int]
    devices: tuple[str, str]
    seconds: tuple[float, float]

    @property
    def equal(self) -> bool:
        """Whether every case has the same verdict and the same drafted tokens on both devices."""
        return self.cases == self.verdicts == self.drafts


def compare(parameters: Parameters, faults: tuple[str, ...]) -> Comparison:
    """Run nvbugs/6535874 on both devices."""
    left, left_seconds = _run("cpu", parameters, faults)
    right, right_seconds = _run("cuda", parameters, faults)
    pairs = list(zip(left, right, strict=True))
    words: dict[str, int] = {}
    for result in left:
        words[result.word] = words.get(result.word, 0) + 1
    return Comparison(
        cases=len(pairs),
        verdicts=sum(_verdict(a) == _verdict(b) for a, b in pairs),
        drafts=sum(a.drafted == b.drafted for a, b in pairs),
        words=words,
        devices=(left[0].device, right[0].device),
        seconds=(left_seconds, right_seconds),
    )


def _verdict(result: CaseResult) -> tuple[str, str, int | None]:
    first = result.violations[0].operation if result.violations else None
    return result.word, result.signature, first


def _run(device: str, parameters: Parameters, faults: tuple[str, ...]) -> tuple[list[CaseResult], float]:
    start = time.perf_counter()
    with Launcher("embedded", device) as launcher:
        results = reproduce(load_reproducer(find_bug("6535874")), parameters, launcher, faults)
    return results, time.perf_counter() - start


def _main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", default="all")
    orders = parse_orders(parser.parse_args(arguments).orders, DEFAULT_BUCKETS)
    equal = True
    for faults in ((), ("capacity-from-bucket",)):
        found = compare(Parameters(orders=orders), faults)
        equal = equal and found.equal
        told = ", ".join(f"{count} {word}" for word, count in found.words.items())
        lines = (
            f"fault {', '.join(faults) or 'none'}: {found.cases} cases on {' and '.join(found.devices)}: {told}",
            f"  same verdict and first violation: {found.verdicts} of {found.cases}",
            f"  same drafted tokens:              {found.drafts} of {found.cases}",
            f"  seconds: {found.seconds[0]:.1f} and {found.seconds[1]:.1f}",
        )
        sys.stdout.write("\n".join(lines) + "\n")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(_main())
