"""#7100: a captured draft loop reads and writes rows 0, 1, 2 and not the slots of its batch.

As long as batch row and slot are the same number, and they are when requests come in order and nobody leaves,
everything is right. With the first one gone the others have moved up, and write over a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 7), ("r2", 10)):
        yield Admit(name, length)
    yield Step()
    yield Finish("r0")  # r1 is batch row 0 from now on, in slot 1
    yield from [Step()] * 3


REPRODUCER = story("#7100", _told)
