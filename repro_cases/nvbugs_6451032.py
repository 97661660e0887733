"""nvbugs/6451032: padding writes into the context of whichever request owns slot 0.

A row of padding belongs to no request, so it is not in the map from requests to slots, and the map's default
was 0. Three requests padded to the bucket of four are enough: the acceptance of one of them fell from about
3.0 to 0.55, now and then, and the output stayed right.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name in ("r0", "r1", "r2"):
        yield Admit(name, 4)
    yield from [Step()] * 3  # each padded to the bucket of 4
    yield Step(("r1", "r2"))  # r0 is not even in this batch
    yield Step(("r1", "r2", "r0"))


REPRODUCER = story("nvbugs/6451032", _told)
