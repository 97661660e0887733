"""#16319: a workspace grows while graphs are captured, and earlier graphs keep the old one.

Capturing the largest batch first was to make sure that it never grows. A smaller batch can take another kernel,
and that one needed more: the buffer moved, and the graphs before it read where it had been. The embedded engine
needs more for a larger bucket, so here it is one that is captured after a smaller one, with nothing as large
before them.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 4)
    yield Admit("r1", 5)
    yield from [Step()] * 2


REPRODUCER = story("#16319", _told)
