"""I-TAIL: rows of padding in persistent graph inputs hold the sentinel. Kind K03."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Capture, Step, Warmup
from harness.trace import Violation

__all__ = ["tails_hold_sentinel"]


def tails_hold_sentinel(view: View) -> Iterator[Violation]:
    """After a forward of n live rows padded to B, rows n..B of every graph input hold its sentinel.

    The host poisons all rows before the step, so a row that nobody wrote cannot look right by chance.
    """
    if not isinstance(view.operation, (Step, Warmup, Capture)):
        return
    live, padding = len(view.now.batch), view.now.padded - len(view.now.batch)
    for item in view.now.graph_inputs:
        width = len(item.tail) // padding if padding else 1
        for offset, value in enumerate(item.tail):
            if value != item.sentinel:
                row = live + offset // width
                yield view.broken(
                    "I-TAIL", "stale", f"batch row {row} of {item.name} is padding and holds {value}",
                    expected=item.sentinel, seen=value, buffer=item.name, row=row,
                )  # fmt: skip
                break  # one a buffer: the rest of its tail is stale for the same reason
