"""nvbugs/6535874: whatever drafts first pins the slot pools of DFlash and DSpark.

The worker allocates its per-slot buffers at the first draft and sizes them from `max_num_requests`. A graph's
metadata narrows that field to its bucket. Let a bucket below the seat count draft first, and the pool is too
small for ever: its dummy row stands on a seat that a live request will get.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.orders import REGIMES, regime_capacities
from harness.reproduce import Parameters, Reproducer
from harness.scenario import Config, Scenario, Step
from harness.verdicts import Case
from repro_cases.stories import alone, captures, regime_config, room_for_sweep, sweep

__all__ = ["REPRODUCER"]

# Four seats, batches of one: 5 rows, a map of 4, dummy 4. A test of the fallback alone never shows this.
_NARROW = "narrow"


def _cases(parameters: Parameters) -> Iterator[Case]:
    for worker in parameters.workers:
        for first in parameters.firsts:
            for regime in parameters.regimes or ():
                narrow = regime == _NARROW
                for order in [(1,)] if narrow else parameters.orders:
                    config = Config(worker, 4, 1, (1,))
                    if not narrow:
                        config = regime_config(worker, regime, order, parameters.config)
                    config = config if parameters.config else room_for_sweep(config, _most_seats(parameters))
                    operations = (*captures(order, first), *sweep(config))
                    yield Case(worker, regime, first, order, Scenario(config, operations))


def _reference(worker: str, parameters: Parameters) -> Scenario:
    if parameters.config is not None:
        given = replace(parameters.config, worker=worker, buckets=())
        return alone(given, requests=given.seats, steps=sum(isinstance(op, Step) for op in sweep(given)))
    # As many requests as the roomiest regime seats, as many steps as the longest-lived of them takes.
    seats = _most_seats(parameters)
    return alone(room_for_sweep(Config(worker, seats, seats, ()), seats), requests=seats, steps=seats)


def _most_seats(parameters: Parameters) -> int:
    return max(regime_capacities("headroom", [bucket for order in parameters.orders for bucket in order]))


REPRODUCER = Reproducer("nvbugs/6535874", _cases, _reference, regimes=(*REGIMES, _NARROW))
