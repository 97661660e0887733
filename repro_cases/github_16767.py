"""#16767: on a generation server every request drafts from slot 0.

Slots were given where a prompt is prefilled. A generation server never prefills: its requests' contexts come
over from another one. No request was ever mapped, so all rows of a batch shared slot 0 and overwrote each
other's context. With one request at a time nothing showed.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.scenario import AdmitDisaggregated, Config, Operation, Step
from repro_cases.stories import story

__all__ = ["REPRODUCER"]


def _told(config: Config) -> Iterator[Operation]:
    del config
    yield AdmitDisaggregated("r0", 5)
    yield Step()
    yield AdmitDisaggregated("r1", 6)
    yield AdmitDisaggregated("r2", 7)
    yield from [Step()] * 3


REPRODUCER = story("#16767", _told)
