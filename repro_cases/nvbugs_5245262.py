"""nvbugs/5245262: the request in slot 0 is given another slot with every step.

"Has it a slot?" was asked by the truth of its number, and 0 is false. Each time its owner was prepared it
looked like a newcomer, until the pool was empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield Admit("r0", 4)
    yield Admit("r1", 5)
    yield from [Step()] * config.seats


REPRODUCER = story("nvbugs/5245262", _told)
