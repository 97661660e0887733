"""Digests of large pools against a plain reduction over the same bytes: `python -m benchmarks.digest_bandwidth`.

A pool of each layout and type is digested and, in turn, summed up by torch, as integers of 8 bytes and as floats
of 4, whichever is faster. A time is that from the call to the result on the host; a figure the median of the
rounds. Exit code 1 on a GPU where digests read at less than 60 % of what the reduction reaches. On a CPU one small
pool of each shows that it runs, and no more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import torch

from benchmarks.timing import say
from harness.host.digests import Digester, Rows

__all__ = ["compared_seconds", "pools"]

_WANTED = 0.6
_ROUNDS = 20
_GIB = 1 << 30

_SEATS = 65  # and the dummy among them
_TYPES = (torch.bfloat16, torch.float32, torch.float64)


def pools(size: int, device: str) -> Iterator[tuple[str, Rows]]:
    """Yield pools of about `size` bytes: a row in one piece, and a row in pieces, a layer each."""
    for dtype in _TYPES:
        words = size // dtype.itemsize
        column = 8 * 128  # heads and their width
        whole = torch.empty(_SEATS, words // (_SEATS * column), column, dtype=dtype, device=device)
        layers = torch.empty(4, _SEATS, words // (4 * _SEATS * column), column, dtype=dtype, device=device)
        name = str(dtype).removeprefix("torch.")
        for layout, tensor, row_dim in (("rows", whole, 0), ("layers of rows", layers, 1)):
            yield f"{layout}, {name}", (tensor.view(torch.uint8).random_().view(dtype), row_dim, 1)


def compared_seconds(rows: Rows) -> tuple[float, float]:
    """Return the median seconds of the digests and of the faster reduction."""
    digest, tensor = Digester(), rows[0]
    words, floats = tensor.view(torch.int64), tensor.view(torch.float32)
    ways: tuple[Callable[[], object], ...] = (
        lambda: digest({"pool": rows}), lambda: words.sum().item(), lambda: floats.sum().item(),
    )  # fmt: skip
    seconds: list[list[float]] = [[] for _ in ways]
    for turn in range(_ROUNDS + 2):
        for way, taken in zip(ways, seconds, strict=True):
            start = time.perf_counter()
            way()
            if turn > 1:  # the first ones compile and load kernels
                taken.append(time.perf_counter() - start)
    digests, *reductions = (statistics.median(taken) for taken in seconds)
    return digests, min(reductions)


def main(device: str, sizes: Sequence[float]) -> int:
    """Print a table; return the exit code."""
    torch.set_grad_enabled(False)
    gpu = device != "cpu"
    what = torch.cuda.get_device_name() if gpu else "a CPU, small pools: no verdict"
    say(f"{what}, torch {torch.__version__}; medians of {_ROUNDS} rounds\n")
    say("| pool | GB | digests GB/s | reduction GB/s | share |\n|---|---|---|---|---|")
    least = float("inf")
    for size in sizes if gpu else (1 / 64,):
        for name, rows in pools(int(size * _GIB), device):
            count = rows[0].numel() * rows[0].element_size() / 1e9
            digests, reduction = compared_seconds(rows)
            least = min(least, reduction / digests)
            rates = f"{count / digests:.1f} | {count / reduction:.1f} | {reduction / digests:.2f}"
            say(f"| {name} | {count:.2f} | {rates} |")
    return int(gpu and least < _WANTED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digest_bandwidth")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--gib", type=float, nargs="+", default=[1.0, 4.0], help="sizes of the pools on a GPU")
    given = parser.parse_args()
    sys.exit(main(given.device, given.gib))
