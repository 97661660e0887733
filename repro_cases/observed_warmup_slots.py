"""Observed: warm-up requests are given slots and keep them into service.

Their ids look like any other's, so the worker maps them to slots; it lets them go only when a batch comes
without them. Until then the pool is short of as many slots as the last warm-up had rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step, Warmup
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield Warmup()
    yield Admit("r0", 4)
    yield from [Step()] * 2


REPRODUCER = story("observed/warmup-slots", _told)
