"""nvbugs/6535874 on trees of TensorRT-LLM, on a CPU (tapes) and on CUDA (graphs): the same cells and drafts?

`python -m benchmarks.trees_on_cuda WORKER=SOURCE ...` prints a table and exits 1 at a difference. Every order of
two bucket sets is run, each bucket first: 2, 4, 5 of 5 slots, and 1, 2, 4 of 5.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.orders import all_orders
from harness.reproduce import Parameters, reproduce
from harness.verdicts import CaseResult

__all__ = ["table"]

_SETS = (("exact", (2, 4, 5)), ("production", (1, 2, 4)))


def table(worker: str, source: str) -> Iterator[tuple[bool, str]]:
    """Yield (whether both devices agree, a line) for each bucket set."""
    for regime, buckets in _SETS:
        parameters = Parameters((worker,), (regime,), ("bucket",), all_orders(buckets))
        (left, left_seconds), (right, right_seconds) = (_run(d, source, parameters) for d in ("cpu", "cuda"))
        pairs = list(zip(left, right, strict=True))
        verdicts = sum(_verdict(a) == _verdict(b) for a, b in pairs)
        drafts = sum(a.drafted == b.drafted for a, b in pairs)
        cells = ", ".join(f"{count} {word}" for word, count in sorted(Counter(r.word for r in right).items()))
        signatures = sorted({result.signature for result in right if not result.holds})
        yield (
            verdicts == drafts == len(pairs),
            f"{worker} {source} buckets {','.join(map(str, buckets))} {regime}: {cells}; "
            f"{' and '.join(signatures) or 'nothing found'}; same verdict {verdicts} of {len(pairs)}, "
            f"same drafts {drafts} of {len(pairs)}; {left_seconds:.1f} and {right_seconds:.1f} s; "
            f"{right[0].device}",
        )


def _verdict(result: CaseResult) -> tuple[str, str, int | None]:
    return result.word, result.signature, result.violations[0].operation if result.violations else None


def _run(device: str, source: str, parameters: Parameters) -> tuple[list[CaseResult], float]:
    start = time.perf_counter()
    isolation = "none" if device == "cpu" else None  # a dozen cases do not pay for a process a core
    with Launcher("tensorrt_llm", device, source=source, isolation=isolation) as launcher:
        results = reproduce(load_reproducer(find_bug("6535874")), parameters, launcher)
    return results, time.perf_counter() - start


def _main(arguments: Sequence[str]) -> int:
    agree = True
    for argument in arguments:
        worker, _, source = argument.partition("=")
        for same, line in table(worker, source):
            agree = agree and same
            sys.stdout.write(f"{'ok' if same else 'DIFFERS'} {line}\n")
            sys.stdout.flush()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
