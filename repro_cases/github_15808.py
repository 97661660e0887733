"""#15808: every chunk of a prompt begins DSpark's window anew.

A prompt that is too long for one forward comes in chunks. Seeding the window counted from the start of the
chunk and not of the prompt, and emptied the slot each time: after three chunks the drafter knew the last one
alone, at the positions of the first. A prompt in one piece was seeded right.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 9, (4, 3, 2))
    yield Admit("r1", 9)  # the same length in one piece
    yield from [Step()] * 2


REPRODUCER = story("#15808", _told)
