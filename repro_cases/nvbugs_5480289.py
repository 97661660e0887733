"""nvbugs/5480289: the pool of hidden states runs dry, one ended request at a time.

A request that ends gives back its seat and its cache; nobody told the drafter's own pool. After as many
requests as it has slots, the next one finds none.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    for index in range(config.running_limit + 1):
        yield Admit(f"r{index}", 4)
        yield Step()
        yield Finish(f"r{index}")


REPRODUCER = story("nvbugs/5480289", _told)
