"""#15775: a request's first drafts are verified against distributions that nobody computed.

Rejection sampling needs what each draft was drawn from. One flag told that those probabilities are there, and
warming up with dummies set it; a request that came over from another server, with nothing drafted for it yet,
was verified against whatever its row held.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import AdmitDisaggregated, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield AdmitDisaggregated("r0", 6)  # the warm-up is over, and this row was never drafted for
    yield from [Step()] * 6


REPRODUCER = story("#15775", _told, sampling=True)
