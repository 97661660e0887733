"""#12588: requests are sampled with the temperature of another one.

Sampling parameters lay token by token, several rows a request; reading as many as there are requests took the
first tokens of the first request instead of one entry each. With one request at a time, or one temperature for
all, nothing shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 7), ("r2", 10)):
        yield Admit(name, length)
    yield Step()
    yield Step(("r2", "r0", "r1"))
    yield Step(("r1", "r2", "r0"))


REPRODUCER = story("#12588", _told, sampling=True)
