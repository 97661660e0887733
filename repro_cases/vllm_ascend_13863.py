"""vllm-ascend#13863: what the first request accepted is credited to the one that moved into its row.

A step leaves its counts for the next one by batch row. When a request ends, the batch is condensed: the last
one moves up, the counts stay. Under full load two of five hundred outputs were wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 5), ("r2", 6)):
        yield Admit(name, length)
    yield from [Step()] * 2
    yield Finish("r0")  # the others move up
    yield from [Step()] * 2


REPRODUCER = story("vllm-ascend#13863", _told)
