"""nvbugs/5485886: a new request goes on from the length of the one that had its slot.

Freeing a slot forgot its owner and kept its length and offsets. The next request in it began where the last one
had stopped, behind tokens of somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config, 12)
    yield Step()
    yield Finish("r0")
    yield Admit("late", 3)  # shorter, and the only free slot is r0's
    yield from [Step()] * 2


REPRODUCER = story("nvbugs/5485886", _told)
