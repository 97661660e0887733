"""nvbugs/5394392: on an idle rank the dummy sits in the seat that the next request waits for.

Ranks that share their experts step together, so one without work runs a dummy. The dummy took a seat like any
request; where there is one seat in all, the request never got it, the rank stayed idle, and the next step made
another dummy.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Idle, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield Idle(dp_dummy=True)
    yield from fill(config)
    yield Step()
    for index in range(config.running_limit):
        yield Finish(f"r{index}")
    yield Idle(dp_dummy=True)
    yield Admit("next", 4)
    yield Step()


REPRODUCER = story("nvbugs/5394392", _told)
