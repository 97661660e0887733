"""#17492: which rows are dummies is remembered from an earlier batch.

The mask was made anew when the number of requests changed. A batch of as many, but others, kept the old one: a
live request stood where a dummy had, and its state was passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 5), ("r2", 6)):
        yield Admit(name, length)
    yield Step(("r0", "r1"))
    yield Step(("r1", "r2"))  # as many, and others
    yield Step(("r2", "r0"))


REPRODUCER = story("#17492", _told)
