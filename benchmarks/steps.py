"""Decode steps with every invariant on, against bare ones: `python -m benchmarks.steps [ROUNDS]`.

A round opens the engine bare in this process, and runs the same scenario in a host, with canaries, poison, digests
and snapshots, over the channel to the parent, whose predicates judge every one. Four requests step together in the
replayed graph of their bucket. Rounds take turns, so that a machine's drift meets all alike; a round's figure is
the mean of its steps, a figure shown the median of its rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.timing import machine, say
from harness.engine import Engine, Parts
from harness.host.graph_tape import tape_capture
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Admit, Capture, Config, Scenario, Step
from harness.trace import Outcome, Snapshot, Violation

__all__: list[str] = []

_LIVE, _PROMPT, _STEPS = 4, 8, 12


def _scenario(worker: str) -> Scenario:
    config = Config(worker, num_seq_slots=6, max_num_requests=6, buckets=(1, 2, 4))
    seated = [Admit(f"r{index}", _PROMPT) for index in range(_LIVE)]
    return Scenario(config, (Capture(_LIVE), *seated, *[Step()] * _STEPS))


def _bare(scenario: Scenario) -> float:
    """Return the seconds of one step of the engine alone."""
    engine = Engine(scenario.config, Parts(), tape_capture)
    engine.capture(_LIVE)
    for index in range(_LIVE):
        engine.admit(f"r{index}", _PROMPT, ())
    engine.step(None, None)
    start = time.perf_counter()
    for _ in range(_STEPS - 1):
        engine.step(None, None)
    return (time.perf_counter() - start) / (_STEPS - 1)


def _judged(launcher: Launcher, scenario: Scenario) -> float:
    """Return the seconds from one judged step to the next."""
    judge, times = Monitor(scenario), []

    def watch(now: Snapshot) -> list[Violation]:
        found = judge(now)
        times.append(time.perf_counter())
        return found

    trace = launcher.run(Run(scenario, watch))
    if trace.outcome is not Outcome.OK:
        raise RuntimeError(f"{trace.outcome.value} in {trace.where()}: {trace.detail}")
    return (times[-1] - times[-_STEPS]) / (_STEPS - 1)


def _measure(worker: str, ways: dict[str, Callable[[Scenario], float]], rounds: int) -> None:
    scenario = _scenario(worker)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            taken = way(scenario)
            if turn:  # the first warms up
                seconds[name].append(taken)
    base = statistics.median(seconds["bare"])
    for name, values in seconds.items():
        median = statistics.median(values)
        say(f"| {worker} | {name} | {median * 1e3:.3f} | {median / base:.2f} |")


def main(rounds: int) -> None:
    """Print a table."""
    torch.set_num_threads(1)  # as in a host
    torch.set_grad_enabled(False)
    say(f"{machine()}; medians of {rounds} rounds of {_STEPS - 1} steps\n")
    say("| worker | step | ms | times bare |\n|---|---|---|---|")
    # fork: the host runs ahead of the parent, on another core; reuse: both take turns, step by step.
    with Launcher(isolation="fork", jobs=1) as fork, Launcher(isolation="reuse", jobs=1) as reuse:
        for worker in WORKERS:
            ways = {
                "bare": _bare,
                "judged, a fork a case": lambda scenario: _judged(fork, scenario),
                "judged, in lockstep": lambda scenario: _judged(reuse, scenario),
            }
            _measure(worker, ways, rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
