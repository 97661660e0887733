"""Observed: a live request that one batch leaves out comes back without its context.

The worker frees every slot whose request is not in the batch at hand. A request that sits out one step (another
micro-batch's turn, a pause) finds a new slot with nothing in it when it is back, and drafts from that.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 4)
    yield Admit("r1", 4)
    yield Step()
    yield Step(("r1",))  # r0 is live and not in it
    yield from [Step()] * 2


REPRODUCER = story("observed/absent-request", _told, keeps_context=True)
