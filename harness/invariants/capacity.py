"""I-CAP: every persistent buffer spans the capacity of the index space that addresses it. Kind K01."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Violation

__all__ = ["spans_seats"]


def spans_seats(view: View) -> Iterator[Violation]:
    """Pools offer `num_seq_slots` rows; their buffers have those and the dummy rows behind them.

    The capacity is read from the configuration, its owner, never from the metadata of whatever drafted first.
    """
    seats = view.config.seats
    pools = {pool.name for pool in view.now.pools}
    for pool in view.now.pools:
        if pool.capacity != seats:
            yield view.broken(
                "I-CAP", "capacity", f"pool {pool.name} offers {pool.capacity} rows for {seats} seats",
                expected=seats, seen=pool.capacity, buffer=pool.name,
            )  # fmt: skip
    for buffer in view.now.buffers:
        expected = seats + buffer.extra
        if buffer.space in pools and buffer.rows != expected:
            reserve = f" and {buffer.extra} for the dummy" if buffer.extra else ""
            yield view.broken(
                "I-CAP", "rows", f"{buffer.name} has {buffer.rows} rows; {seats} seats{reserve} need {expected}",
                expected=expected, seen=buffer.rows, buffer=buffer.name,
            )  # fmt: skip
