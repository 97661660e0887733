"""A trigger as a short story: what happens, told once for both workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.scenario import WORKERS, Config, Operation, Scenario

__all__ = ["Story"]

_CONFIG = Config("dflash", num_seq_slots=3, max_num_requests=3, buckets=())


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
            name = ", ".join((self.name, worker, *self.config.options))
            yield Scenario(replace(self.config, worker=worker), self.operations, name)
