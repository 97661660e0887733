"""#19466: behind a prefix hit DFlash counts its own tokens from 0, and the target from the end of the hit.

The engine had eight of twelve prompt tokens from an earlier request, so the drafter saw the last four alone.
Their keys were stored for positions 8 to 11, but in rows 0 to 3, and later appends and queries counted rows.
Without a hit the two counts are one, so nothing showed until prefixes were reused.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 12)
    yield Step()
    yield Finish("r0")
    yield Admit("r1", 4)
    yield Step()
    yield Admit("r0", 12, cached=8)  # the same prompt again
    yield from [Step()] * 2


REPRODUCER = story("#19466", _told)
