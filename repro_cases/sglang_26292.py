"""sglang#26292: rows of padding follow requests of an earlier, larger batch.

Filling a graph's inputs wrote the rows of the live requests. Behind them the indices of an earlier step stayed,
so a replay of the same bucket read, and wrote, rows of requests that had ended or sat out. Four of five runners
had it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 5), ("r2", 6), ("r3", 7)):
        yield Admit(name, length)
    yield Step()  # the bucket of 4, full
    yield Step(("r0", "r1", "r2"))  # padded to it, with r3's row behind
    yield from [Step()] * 2


REPRODUCER = story("sglang#26292", _told)
