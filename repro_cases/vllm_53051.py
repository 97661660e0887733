"""vllm#53051: a prompt as long as a verification is taken for one.

A batch in which every request has 1 + K tokens looked like decoding with K drafts, whatever it was. A prompt of
exactly that length, alone, ran the graph of a decode step, and the state that a prefill leaves was never
written.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield Admit("r0", config.draft_len + 1)
    yield from [Step()] * 2


REPRODUCER = story("vllm#53051", _told)
