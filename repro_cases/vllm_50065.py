"""vllm#50065: DFlash's buffers are shorter than a batch that padding makes larger.

Query rows were allocated for the requests that may run. The dispatcher pads to the next captured size, which
can be more, and a slice that reaches past the end of a buffer is short without a word. An odd limit crashed at
start-up; any other waited for its first large batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Config, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config)
    yield Step()  # more rows than any bucket has
    yield Step(("r0",))


REPRODUCER = story("vllm#50065", _told, regimes=("production",))
