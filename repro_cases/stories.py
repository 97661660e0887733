"""Shapes that several reproducers share: how requests come, run and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.orders import regime_capacities
from harness.scenario import Admit, Capture, Config, Finish, Operation, Scenario, Step, Warmup

__all__ = ["alone", "captures", "regime_config", "sweep"]

_PROMPT = 4  # tokens: enough context for a drafter to depend on, few enough to prefill at once


def regime_config(worker: str, regime: str, buckets: Sequence[int]) -> Config:
    """Return the configuration of a regime for these buckets."""
    seats, rows = regime_capacities(regime, buckets)
    return Config(worker, seats, rows, tuple(sorted(buckets)))


def captures(order: Iterable[int], first: str) -> Iterator[Operation]:
    """Capture the buckets in `order`; with `first` "eager" the engine's ordinary warm-up drafts before them."""
    if first == "eager":
        yield Warmup()
    yield from map(Capture, order)


def sweep(config: Config) -> Iterator[Operation]:
    """Raise the live count from 1 to all seats and lower it to 1 again, stepping everybody at each count.

    The oldest leave first, so that batch rows and slots part; more live requests than a batch holds take turns.
    """
    live: list[str] = []
    for seat in range(config.seats):
        live.append(f"r{seat}")
        yield Admit(live[-1], _PROMPT)
        yield from _turns(live, config)
    while len(live) > 1:
        yield Finish(live.pop(0))
        yield from _turns(live, config)


def _turns(live: Sequence[str], config: Config) -> Iterator[Step]:
    for start in range(0, len(live), config.max_num_requests):
        yield Step(tuple(live[start : start + config.max_num_requests]))


def alone(config: Config, requests: int, steps: int) -> Scenario:
    """Each request by itself, with no graph and no padding: what its drafts are to be compared with."""
    operations: list[Operation] = []
    for index in range(requests):
        name = f"r{index}"
        operations += [Admit(name, _PROMPT), *[Step((name,), graph=False)] * steps, Finish(name)]
    return Scenario(config, tuple(operations), "each request alone")
