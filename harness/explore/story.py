"""A trigger as a short story, told once for both workers: of its own, or that of a bug's reproducer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from harness.catalogue import find_bug, load_reproducer
from harness.reproduce import Parameters
from harness.scenario import WORKERS, Config, Operation, Scenario

__all__ = ["Retold", "Story", "Trigger"]

_CONFIG = Config("dflash", num_seq_slots=3, max_num_requests=3, buckets=())
# One case a worker, and few buckets: the matrix runs it once more for every relation, and each time captures them.
_FIRSTS, _ORDERS = ("bucket",), ((2, 4),)


@dataclass(frozen=True)
class Story:
    """Operations that lead to where a bug shows, and the configuration they need.

    config   its worker is replaced by each of `workers` in turn; the default is three seats and no graph.
    """

    name: str
    operations: tuple[Operation, ...]
    config: Config = _CONFIG
    workers: tuple[str, ...] = WORKERS

    def scenarios(self) -> Iterator[Scenario]:
        """Return one scenario a worker, named after the story, the worker and the options that are on."""
        for worker in self.workers:
            config = replace(self.config, worker=worker)
            yield Scenario(config, self.operations, _name(self.name, config))


@dataclass(frozen=True)
class Retold:
    """The story that the reproducer of a catalogued bug tells, with further `options` on."""

    bug: str
    options: tuple[tuple[str, int], ...] = ()

    def scenarios(self) -> Iterator[Scenario]:
        """Return one of its cases a worker, named after bug, worker and options."""
        reproducer = load_reproducer(find_bug(self.bug))
        parameters = Parameters(regimes=reproducer.regimes[:1], firsts=_FIRSTS, orders=_ORDERS)
        options: dict[str, Any] = dict(self.options)
        for case in reproducer.cases(parameters):
            config = replace(case.scenario.config, **options)
            yield replace(case.scenario, config=config, name=_name(reproducer.bug, config))


Trigger = Story | Retold


def _name(name: str, config: Config) -> str:
    return ", ".join((name, config.worker, *config.options))
