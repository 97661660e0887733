"""Decode steps with every invariant on, against bare ones: `python -m benchmarks.steps [ROUNDS]`.

A round opens the engine bare in this process, and runs the same scenario in a host, with canaries, poison, digests
and snapshots, over the channel to the parent, whose predicates judge every one. Four requests step together in the
replayed graph of their bucket. Rounds take turns, so that a machine's drift meets all alike; a round's figure is
the mean of its steps, a figure shown the median of its rounds.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.figures import Figure, compared, markdown
from benchmarks.timing import Spent, machine, now, processor_time_of, say, told_in_turn
from harness.engine import Engine, Parts
from harness.host.graphs import capture_for
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Admit, Capture, Config, Scenario, Step
from harness.trace import Outcome, Snapshot, Violation

__all__ = ["bare_step", "host_of", "judged_step", "measure", "stepping"]

_LIVE, _PROMPT, _STEPS = 4, 8, 12
_BARE, _AHEAD = "bare engine", "judged, a fork that runs ahead"


def stepping(worker: str, live: int, seats: int, buckets: tuple[int, ...]) -> Scenario:
    """Return a scenario of `live` requests that step in their graph, over and over."""
    config = Config(worker, seats, seats, buckets)
    seated = [Admit(f"r{index}", _PROMPT) for index in range(live)]
    return Scenario(config, (Capture(live), *seated, *[Step()] * _STEPS))


def bare_step(scenario: Scenario, device: str = "cpu", graph: bool | None = None) -> Spent:
    """Return what one step of the engine alone takes; `graph` False steps eagerly."""
    engine = Engine(scenario.config, Parts(), capture_for(device), device)
    engine.capture(_LIVE)
    for index in range(_LIVE):
        engine.admit(f"r{index}", _PROMPT, ())
    engine.step(None, graph)
    start = now()
    for _ in range(_STEPS - 1):
        engine.step(None, graph)  # it reads the accepted tokens, so a device has done its work
    return now().less(start).each(_STEPS - 1)


def judged_step(launcher: Launcher, scenario: Scenario, host: int | None = None) -> Spent:
    """Return what passes from one judged step to the next, the processor time of process `host` included."""
    judge, times = Monitor(scenario), list[Spent]()

    def watch(snapshot: Snapshot) -> list[Violation]:
        found = judge(snapshot)
        clock, own = now()
        times.append(Spent(clock, own + (processor_time_of(host) if host else 0.0)))
        return found

    trace = launcher.run(Run(scenario, watch))
    if trace.outcome is not Outcome.OK:
        raise RuntimeError(f"{trace.outcome.value} in {trace.where()}: {trace.detail}")
    return times[-1].less(times[-_STEPS]).each(_STEPS - 1)


@contextmanager
def host_of(device: str) -> Iterator[tuple[Launcher, int]]:
    """Yield a launcher with one host that is used again, and the host's process id."""
    before = _children()
    with Launcher(device=device, isolation="reuse", jobs=1) as launcher:
        (host,) = _children() - before
        yield launcher, host


def _children() -> set[int]:
    text = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="ascii")
    return {int(word) for word in text.split()}


def measure(rounds: int) -> list[Figure]:
    """Return the figures of both workers."""
    torch.set_num_threads(1)  # as in a host
    torch.set_grad_enabled(False)
    figures = []
    # fork: the host runs ahead of the parent, on another core; reuse: both take turns, step by step.
    with Launcher(isolation="fork", jobs=1) as fork, host_of("cpu") as (reuse, host):
        for worker in WORKERS:
            figures += _of_worker(worker, fork, reuse, host, rounds)
    return figures


def _of_worker(worker: str, fork: Launcher, reuse: Launcher, host: int, rounds: int) -> list[Figure]:
    scenario = stepping(worker, _LIVE, 6, (1, 2, 4))
    ways = {
        _BARE: lambda: bare_step(scenario),
        "judged, in lockstep": lambda: judged_step(reuse, scenario, host),
        _AHEAD: lambda: judged_step(fork, scenario),
    }
    figures = compared(f"a step of {_LIVE} requests, {worker}", told_in_turn(ways, rounds), _BARE)
    # A fork's own processor time is not to be had while it runs.
    return [replace(one, cpu=None, cpu_ratio=None) if one.what == _AHEAD else one for one in figures]


def main(rounds: int) -> None:
    """Print a table."""
    say(f"{machine()}; medians of {rounds} rounds of {_STEPS - 1} steps\n\n{markdown(measure(rounds))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
