"""#17619: after a hand-over the drafter starts at position 0 and reads a window that nobody wrote.

A request whose context was computed on another server gets a fresh slot here. Its position was taken from the
slot, 0, and not from the target; and the window's mask knew a start position alone, so columns that were never
written counted as context until the window had come round once.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import AdmitDisaggregated, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield AdmitDisaggregated("r0", 12)  # longer than a window
    yield from [Step()] * 3
    yield AdmitDisaggregated("r1", 3)  # shorter than a window
    yield from [Step()] * 3


REPRODUCER = story("#17619", _told)
