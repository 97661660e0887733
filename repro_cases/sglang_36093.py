"""sglang#36093: DSpark's confidences reach whoever sits in the seat when they arrive.

How sure the drafter was is relayed a step late, by the seat that it was for. If the request has ended and
another one took the seat by then, the newcomer is judged by a stranger's confidences, unless each carries the
generation of the seat that it was made for.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config)
    yield Step()  # leaves something for every seat
    yield Finish("r0")
    yield Admit("late", 6)  # the only free seat is r0's
    yield from [Step()] * 2


REPRODUCER = story("sglang#36093", _told)
