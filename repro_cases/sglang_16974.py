"""sglang#16974: under graphs a request counts for one token, though it brings four.

The field that says how many tokens a batch has was set in three copies of the same code, and the graph runners
set it to one a request. What is synchronised by that number covered a part of the batch; acceptance fell by a
third.
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
    yield from [Step()] * 2


REPRODUCER = story("sglang#16974", _told)
