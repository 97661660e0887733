"""Observed: an id that is used again at once, with a prefix hit, continues the context of its earlier life.

The worker learns that a request ended from a batch without it. Come back before that, and it still knows the id;
start behind position 0, as a prefix hit does, and the prompt looks like the next chunk of the old one.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 4)
    yield Step()
    yield Finish("r0")
    yield Admit("r0", 12, cached=4)  # no batch without r0 in between
    yield from [Step()] * 2


REPRODUCER = story("observed/reused-id", _told)
