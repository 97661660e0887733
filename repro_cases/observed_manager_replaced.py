"""Observed: when the draft cache's manager is replaced, live requests lose their slots.

The worker allocates anew inside the next forward, whose rows were mapped before: all of them stand on slot 0,
their contexts are gone, and graphs captured before go on reading the old tensors.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Rebind, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 4)
    yield Admit("r1", 4)
    yield Step()
    yield Rebind()
    yield from [Step()] * 2


REPRODUCER = story("observed/manager-replaced", _told)
