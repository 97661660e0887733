"""vllm#43810: the -1 that marks padding is used as an index, and means the last row there is.

Rows of padding carry -1 for "no slot". A write that does not look for the mark counts from the end instead:
every padded batch overwrites the last row of the pool, whoever owns it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config  # three requests, whatever the capacities
    for name in ("r0", "r1", "r2"):
        yield Admit(name, 4)
    yield from [Step()] * 3  # each padded to the bucket of 4


REPRODUCER = story("vllm#43810", _told, recurrent=True)
