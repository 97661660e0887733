"""#18343: a request that is refused a slot runs on, on the dummy row.

All slots are taken; one request ends, but its slot comes back with the next batch only. The request admitted
in between is refused, the refusal is dropped, and the request shares the dummy row with padding from then on.
The output stays right, so nobody notices but the acceptance rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    for seat in range(config.seats):
        yield Admit(f"r{seat}", 4)
    yield Step()
    yield Finish("r0")
    yield Admit("late", 4)
    yield from [Step()] * 2


REPRODUCER = story("#18343", _told)
