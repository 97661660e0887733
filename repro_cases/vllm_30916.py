"""vllm#30916: a resumed request drafts from what it knew before it was preempted.

Preempted, a request loses its cache, and the target's is computed again when it is back. What stood in for the
drafter, and the drafts that had been proposed, were not made again.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Preempt, Resume, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Admit("r0", 5)
    yield Admit("r1", 6)
    yield from [Step()] * 2
    yield Preempt("r0")
    yield Step()
    yield Resume("r0")
    yield from [Step()] * 2


REPRODUCER = story("vllm#30916", _told)
