"""#13151: padding takes a slot that looks free, and a request outside this batch owns it.

Slots for padding were those that no request of the batch has. A request that sits this step out, or one that is
ending under overlap, is in no batch and has a slot all the same; its recurrent state went on with padding's
tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    for name in ("r0", "r1", "r2", "r3"):
        yield Admit(name, 4)
    yield Step()
    yield Step(("r0", "r1", "r2"))  # padded to 4, and r3 is live
    yield from [Step()] * 2


REPRODUCER = story("#13151", _told)
