"""tokenspeed#263: DFlash's captured decode reads the tables of its capture for ever.

Which rows a forward reads was worked out in Python, inside what was being captured. A replay runs no Python, so
every later batch read the rows of the dummies that stood there during the capture.
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
    yield from [Step()] * 3


REPRODUCER = story("tokenspeed#263", _told)
