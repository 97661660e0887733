"""#19040: a table entry without a page reads as page 0, and somebody holds that one.

DSpark's cache moved into pages. An entry of a request's table that has no page yet is marked -1; copying the
table made the mark a 0 on its way, which is a page like any other. Padding has no page at all, so every padded
step wrote into the context of whoever held page 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name in ("r0", "r1", "r2"):
        yield Admit(name, 4)
    yield from [Step()] * 3  # each padded to the bucket of 4


REPRODUCER = story("#19040", _told, page_size=4)
