"""vllm#51256: DFlash's step takes a row more a request than was planned for it.

Beside its masked tokens every request has one row for the token before them. The scheduler counted the masks
alone, so a batch that is full by its count is too large by as many rows as it has requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Config, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config)
    yield from [Step()] * 2


REPRODUCER = story("vllm#51256", _told)
