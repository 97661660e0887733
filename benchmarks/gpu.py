"""What captured CUDA graphs and digests cost on a GPU: `python -m benchmarks.gpu [ROUNDS]`; nothing on a CPU.

The same engine and scenario as in `benchmarks.steps`: a capture, a step run eagerly, replayed, and judged by every
invariant in a host; then a pool's digests beside a plain sum over the same bytes.
"""

from __future__ import annotations

import sys
from functools import partial

import torch

from benchmarks.digest_bandwidth import compared_seconds, pools
from benchmarks.figures import Figure, compared, markdown, skipped
from benchmarks.steps import bare_step, host_of, judged_step, stepping
from benchmarks.timing import in_turn, machine, say, told_in_turn
from harness.engine import Engine, Parts
from harness.host.graphs import capture_for
from harness.scenario import WORKERS, Config

__all__ = ["measure"]

_BUCKET, _SEATS = 4, 6
_GIB = 1 << 30
_EAGER = "run eagerly"


def measure(rounds: int) -> list[Figure]:
    """Return the figures of the first GPU, or the reason why there are none."""
    if not torch.cuda.is_available():
        return [skipped("on a GPU", f"no CUDA device is visible to torch {torch.__version__}")]
    torch.set_grad_enabled(False)
    figures = []
    with host_of("cuda") as (launcher, host):
        for worker in WORKERS:
            scenario = stepping(worker, _BUCKET, _SEATS, (1, 2, _BUCKET))
            steps = {
                _EAGER: partial(bare_step, scenario, "cuda", False),
                "replayed": partial(bare_step, scenario, "cuda"),
                "replayed and judged, in lockstep": partial(judged_step, launcher, scenario, host),
            }
            part = f"a step of {_BUCKET} requests on a GPU, {worker}"
            figures += compared(part, told_in_turn(steps, rounds), _EAGER)
            captures = in_turn({f"bucket {_BUCKET}": partial(_capture, scenario.config)}, rounds)
            figures += compared(f"opening and capturing on a GPU, {worker}", captures)
    return figures + _digests()


def _capture(config: Config) -> None:
    Engine(config, Parts(), capture_for("cuda"), "cuda").capture(_BUCKET)
    torch.cuda.synchronize()


def _digests() -> list[Figure]:
    figures = []
    for name, rows in pools(_GIB, "cuda"):
        seconds, least = compared_seconds(rows)
        rate = rows[0].numel() * rows[0].element_size() / seconds / 1e9
        what = f"{name}: {rate:.0f} GB/s"
        figures.append(Figure("digests of a GiB", what, seconds, None, "a plain sum", seconds / least))
    return figures


if __name__ == "__main__":
    say(f"{machine()}\n\n{markdown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10))}")
