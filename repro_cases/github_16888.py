"""#16888: after a load spike acceptance stays low, for everybody who lived through it.

With many requests drafting does not pay, so the schedule sets the draft length to 0. The worker then had
nothing to do and took in nothing, while the tokens of those steps became context. Back at the old length it
drafts over a hole of that many tokens, until the request ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, DraftLen, Finish, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield Admit("r0", 4)
    yield Step()
    yield Admit("r1", 4)  # the spike
    yield DraftLen(0)
    yield from [Step()] * 3
    yield Finish("r1")
    yield DraftLen(config.draft_len)
    yield from [Step()] * 2


REPRODUCER = story("#16888", _told)
