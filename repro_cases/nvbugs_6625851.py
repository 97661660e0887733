"""nvbugs/6625851: a draft that was not to be verified is taken back one too few.

What a verification rolls back is counted on the way. A draft that came to a dead end was marked and the loop
went on at once, past the line that counts it; the state stayed one token ahead of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name, length in (("r0", 4), ("r1", 5), ("r2", 6)):
        yield Admit(name, length)
    yield from [Step()] * 3  # one draft a step is verified, for all of them


REPRODUCER = story("nvbugs/6625851", _told, workers=("dspark",), verify=1, seed=1)
