"""#18115: a paused request keeps its slot.

When memory is short the scheduler pauses a request and hands on a list of the paused ones. Of three loops one
never looks at that list: nothing of the request is freed, and it takes a second slot when it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Preempt, Resume, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config, 5)
    yield Step()
    yield Preempt("r0")
    yield Admit("other", 4)
    yield Step()
    yield Finish("other")
    yield Resume("r0")
    yield Step()


REPRODUCER = story("#18115", _told)
