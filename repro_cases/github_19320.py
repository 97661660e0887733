"""#19320: the dummy row's position climbs with every padded step.

All padding shares one row, and a step appends to it as to any other. Nobody sets it back, so on a server that
lives long enough it passes the end of the position table; where the cache is paged, it writes past its page.
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
    yield from [Step()] * 8  # each padded to the bucket of 4


REPRODUCER = story("#19320", _told)
