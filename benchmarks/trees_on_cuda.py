"""Trees of TensorRT-LLM on a CPU (tapes) and on CUDA (graphs): the same cells and drafts?

`python -m benchmarks.trees_on_cuda [--others] WORKER=SOURCE ...` prints a line for each bucket set of
nvbugs/6535874, or with `--others` for each other bug of the catalogue, and exits 1 at a difference. Every order
of the sets is run, each bucket first: 2, 4, 5 of 5 slots, and 1, 2, 4 of 5. Other bugs are run in one order.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.catalogue import find_bug, load_catalogue, load_reproducer
from harness.launch import Launcher
from harness.orders import all_orders
from harness.reproduce import Parameters, reproduce
from harness.verdicts import CaseResult

__all__ = ["comparisons"]

_SETS = (("exact", (2, 4, 5)), ("production", (1, 2, 4)))
_SIZING = "6535874"
# What is run: a bug, a name for the line, and the part of its cases.
_Job = tuple[str, str, Parameters]


def comparisons(worker: str, source: str, *, others: bool, device: str = "cuda") -> Iterator[tuple[bool, str]]:
    """Yield (whether both devices agree, a line) for each part that is run."""
    jobs = list(_other_bugs(worker) if others else _bucket_sets(worker))
    # A dozen cases do not pay for a process a core; and one host serves all parts.
    with (
        Launcher("tensorrt_llm", "cpu", source=source, isolation="none") as tapes,
        Launcher("tensorrt_llm", device, source=source) as graphs,
    ):
        for bug, name, parameters in jobs:
            left, left_seconds = _run(tapes, bug, parameters)
            right, right_seconds = _run(graphs, bug, parameters)
            pairs = list(zip(left, right, strict=True))
            verdicts = sum(_verdict(a) == _verdict(b) for a, b in pairs)
            drafts = sum(a.drafted == b.drafted for a, b in pairs)
            cells = ", ".join(f"{count} {word}" for word, count in sorted(Counter(r.word for r in right).items()))
            signatures = sorted({result.signature for result in right if result.word not in ("ok", "n/a")})
            yield (
                verdicts == drafts == len(pairs),
                f"{worker} {source} {name}: {cells}; {' and '.join(signatures) or 'nothing found'}; "
                f"same verdict {verdicts} of {len(pairs)}, same drafts {drafts} of {len(pairs)}; "
                f"{left_seconds:.1f} and {right_seconds:.1f} s; {right[0].device}",
            )


def _bucket_sets(worker: str) -> Iterator[_Job]:
    for regime, buckets in _SETS:
        parameters = Parameters((worker,), (regime,), ("bucket",), all_orders(buckets))
        yield _SIZING, f"buckets {','.join(map(str, buckets))} {regime}", parameters


def _other_bugs(worker: str) -> Iterator[_Job]:
    sizing = find_bug(_SIZING)
    for entry in load_catalogue():
        if entry != sizing:
            yield entry.bug, entry.bug, Parameters((worker,), orders=((5, 4, 2, 1),))


def _verdict(result: CaseResult) -> tuple[str, str, int | None]:
    return result.word, result.signature, result.violations[0].operation if result.violations else None


def _run(launcher: Launcher, bug: str, parameters: Parameters) -> tuple[list[CaseResult], float]:
    start = time.perf_counter()
    results = reproduce(load_reproducer(find_bug(bug)), parameters, launcher)
    return results, time.perf_counter() - start


def _main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees_on_cuda")
    parser.add_argument("--others", action="store_true", help="run the catalogue's other bugs")
    parser.add_argument("--device", default="cuda", help="what is compared with the CPU")
    parser.add_argument("trees", nargs="+", metavar="WORKER=SOURCE")
    options = parser.parse_args(arguments)
    agree = True
    for tree in options.trees:
        worker, _, source = tree.partition("=")
        for same, line in comparisons(worker, source, others=options.others, device=options.device):
            agree = agree and same
            sys.stdout.write(f"{'ok' if same else 'DIFFERS'} {line}\n")
            sys.stdout.flush()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
