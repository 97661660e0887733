"""Observed: the first forward of a process, if nothing but generation, has all its rows on slot 0.

The worker joins the metadata inside its first forward, after that forward was prepared, so its rows were never
mapped: the map is as it was allocated, zeros. A warm-up hides it; a generation server without one does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import AdmitDisaggregated, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield AdmitDisaggregated("r0", 5)
    yield AdmitDisaggregated("r1", 6)
    yield from [Step()] * 2


REPRODUCER = story("observed/first-generation-forward", _told, captured=False)
