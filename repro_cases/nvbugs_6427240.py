"""nvbugs/6427240: a step verifies its drafts, and was given room for one token a request.

The loop that tells the scheduler of draft tokens asks the drafter object for their number. A drafter that is
part of the model has no such object, so the loop was skipped: a chunk of a prompt was sized for one token a
running request, and the forward came with four.
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
    yield Step()
    yield Admit("long", 12, (6, 6))  # a prompt in chunks beside three that generate
    yield from [Step()] * 2


REPRODUCER = story("nvbugs/6427240", _told)
