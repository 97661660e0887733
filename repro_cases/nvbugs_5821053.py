"""nvbugs/5821053: a request's length runs ahead of its text, a little further with every step.

The length on the device is moved on for the drafts of a step and corrected when they are verified. One
increment had no correction: where nothing was accepted it stayed, and from then on attention reached past what
was written.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 4)
    yield from [Step()] * 6


REPRODUCER = story("nvbugs/5821053", _told)
