"""#16072: once the padding dummy could not be had, every padded batch runs without its graph.

The dummy was made for the first batch that needs padding. If the cache was full at that moment it could not be
made, and that was remembered: long after there was room again, only batches of exactly a captured size were
fast.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name in ("r0", "r1", "r2", "r3"):
        yield Admit(name, 4)
    yield Step()  # the bucket of 4 exactly
    yield Finish("r3")
    yield from [Step()] * 2  # three, padded to the same bucket


REPRODUCER = story("#16072", _told)
