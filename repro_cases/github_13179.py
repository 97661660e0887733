"""#13179: a full batch is ending, the next one is prepared, and there are no rows for both.

With overlapped scheduling the results of a step come in while the next one is on its way: ended requests keep
their rows for one step more. The pool of recurrent states had as many rows as a batch; the first batch that was
full on both sides raised in the loop's thread, and the server stood still.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import Admit, Config, Finish, Operation, Step
from repro_cases.stories import fill, story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    yield from fill(config)
    yield Step()
    for index in range(config.running_limit):
        yield Finish(f"r{index}")
    for index in range(config.running_limit):
        yield Admit(f"next{index}", 4)
    yield from [Step()] * 2


REPRODUCER = story("#13179", _told, overlap=True)
