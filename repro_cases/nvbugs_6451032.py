"""nvbugs/6451032: padding writes into the context of whichever request owns slot 0.

A row of padding belongs to no request, so it is not in the map from requests to slots, and the map's default
was 0. Three requests padded to the bucket of four are enough: the acceptance of one of them fell from about
3.0 to 0.55, now and then, and the output stayed right. With trained models the same is to be seen here.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import TRAINED, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    # A trained drafter needs some text before it, and a mean needs some steps.
    prompt_len, steps = (20, 6) if config.weights else (4, 3)
    for name in ("r0", "r1", "r2"):
        yield Admit(name, prompt_len)
    yield from [Step()] * steps  # each padded to the bucket of 4
    yield Step(("r1", "r2"))  # r0 is not even in this batch
    yield Step(("r1", "r2", "r0"))


REPRODUCER = story("nvbugs/6451032", _told, regimes=("exact", TRAINED))
