"""vllm-ascend#16712: a request that DSpark holds no context of reads the position before its own range.

The input kernel looks one position back from where a request's rows begin. With context there, that is its own
last token; with none, it is the last position of the request before it in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, AdmitDisaggregated, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield AdmitDisaggregated("r0", 9)  # with nothing of its own yet
    yield Admit("r1", 4)
    yield from [Step()] * 3


REPRODUCER = story("vllm-ascend#16712", _told)
