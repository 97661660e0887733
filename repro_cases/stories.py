"""Shapes that several reproducers share: how requests come, run and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.orders import CONFIG_REGIME, regime_capacities
from harness.references import one_by_one
from harness.reproduce import Parameters, Reproducer
from harness.scenario import (
    WORKERS,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    Finish,
    Operation,
    Scenario,
    Step,
    Warmup,
)
from harness.verdicts import Case

__all__ = [
    "TRAINED",
    "alone",
    "captures",
    "each_alone",
    "fill",
    "regime_config",
    "room_for_sweep",
    "story",
    "sweep",
]

TRAINED = "trained"  # the regime "exact" with trained models, so that it shows what a bug costs in accepted drafts
_TRAINED_DRAFT_LEN = 7  # K, as they were trained
_TRAINED_LENGTH = 128
_PROMPT = 4  # tokens: enough context for a drafter to depend on, few enough to prefill at once
_MANY = 8  # seats from which a sweep stops at the borders of buckets alone


def regime_config(worker: str, regime: str, buckets: Sequence[int], given: Config | None = None) -> Config:
    """Return the configuration of a regime for these buckets; `given` is that of the regime "config"."""
    if regime == TRAINED:
        exact = regime_config(worker, "exact", buckets)
        return replace(exact, weights="trained", draft_len=_TRAINED_DRAFT_LEN, max_seq_len=_TRAINED_LENGTH)
    if regime == CONFIG_REGIME and given is not None:
        return replace(given, worker=worker, buckets=tuple(sorted(buckets)))
    seats, rows = regime_capacities(regime, buckets)
    return Config(worker, seats, rows, tuple(sorted(buckets)))


def captures(order: Iterable[int], first: str) -> Iterator[Operation]:
    """Capture the buckets in `order`; with `first` "eager" the engine's ordinary warm-up drafts before them."""
    if first == "eager":
        yield Warmup()
    yield from map(Capture, order)


def room_for_sweep(config: Config, seats: int) -> Config:
    """Return `config` with a sequence length that no sweep of so many seats passes, and little more.

    Cases that share it share what is learnt of a target's layout, too.
    """
    steps = seats + 1  # nobody is live for more rounds than there are seats
    return replace(config, max_seq_len=_PROMPT + 1 + steps * (config.draft_len + 1))


def sweep(config: Config) -> Iterator[Operation]:
    """Raise the live count from 1 to all seats and lower it to 1 again, stepping everybody at each count.

    The oldest leave first, so that batch rows and slots part; more live requests than a batch holds take turns.
    Of many seats only the counts beside the size of a bucket, a batch or the pool are stepped.
    """
    counts = _counts(config)
    live: list[str] = []
    for seat in range(config.seats):
        live.append(f"r{seat}")
        yield Admit(live[-1], _PROMPT)
        if len(live) in counts:
            yield from _turns(live, config)
    while len(live) > 1:
        yield Finish(live.pop(0))
        if len(live) in counts:
            yield from _turns(live, config)


def _counts(config: Config) -> frozenset[int]:
    if config.seats <= _MANY:
        return frozenset(range(1, config.seats + 1))
    borders = (1, *config.buckets, config.max_num_requests, config.seats)
    return frozenset(border + beside for border in borders for beside in (-1, 0, 1))


def _turns(live: Sequence[str], config: Config) -> Iterator[Step]:
    for start in range(0, len(live), config.max_num_requests):
        yield Step(tuple(live[start : start + config.max_num_requests]))


def alone(config: Config, requests: int, steps: int) -> Scenario:
    """Each request by itself, with no graph and no padding: what its drafts are to be compared with."""
    return each_alone(config, [Admit(f"r{index}", _PROMPT) for index in range(requests)], steps)


def each_alone(config: Config, admissions: Iterable[Admit | AdmitDisaggregated], steps: int) -> Scenario:
    """The same for requests that come in the given ways."""
    lives = ((admission, steps) for admission in admissions)
    return Scenario(config, one_by_one(lives), "each request alone")


def story(
    bug: str,
    told: Callable[[Config], Iterable[Operation]],
    *,
    workers: tuple[str, ...] = WORKERS,
    regimes: tuple[str, ...] = ("exact",),
    captured: bool = True,
    keeps_context: bool = False,
    **needed: Any,
) -> Reproducer:
    """Return the reproducer of a bug that hangs on no order of buckets: `told` yields what happens.

    Before it the buckets are captured, in the first and the last of the given orders; not `captured` leaves out
    every warm-up too. Each request that comes is also run alone, whole and uninterrupted: what its drafts are
    compared with. `needed` are fields of the configuration that the bug cannot do without, such as its options.
    """

    def configured(worker: str, regime: str, parameters: Parameters) -> Config:
        config = regime_config(worker, regime, parameters.orders[0], parameters.config)
        return _with_headroom(replace(config, **needed))

    def cases(parameters: Parameters) -> Iterator[Case]:
        ends = dict.fromkeys((parameters.orders[0], parameters.orders[-1]))
        for worker in (worker for worker in parameters.workers if worker in workers):
            for first in parameters.firsts if captured else ("eager",):
                for regime in parameters.regimes or ():
                    config = configured(worker, regime, parameters)
                    for order in ends if captured else list(ends)[:1]:
                        before = captures(order, first) if captured else ()
                        yield Case(worker, regime, first, order, Scenario(config, (*before, *told(config))))

    def reference(worker: str, parameters: Parameters) -> Scenario:
        config = configured(worker, (parameters.regimes or regimes)[0], parameters)
        happens = list(told(config))
        comes = dict.fromkeys(_whole(op) for op in happens if isinstance(op, (Admit, AdmitDisaggregated)))
        return each_alone(config, comes, sum(isinstance(op, Step) for op in happens))

    return Reproducer(bug, cases, reference, regimes, keeps_context, workers)


def _with_headroom(config: Config) -> Config:
    """With `overlap` each row of a batch may have an ending request beside it."""
    seats = max(config.seats, 2 * config.max_num_requests)
    return replace(config, num_seq_slots=seats) if config.overlap else config


def _whole(admission: Admit | AdmitDisaggregated) -> Admit | AdmitDisaggregated:
    return replace(admission, chunks=()) if isinstance(admission, Admit) else admission


def fill(config: Config, prompt_len: int = _PROMPT) -> Iterator[Admit]:
    """Admit as many requests as may run at once, r0 first."""
    return (Admit(f"r{index}", prompt_len) for index in range(config.running_limit))
