"""I-CAP: every persistent buffer spans the capacity of the index space that addresses it. Kind K01."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Violation

__all__ = ["rows_for_a_batch", "spans_seats"]


def spans_seats(view: View) -> Iterator[Violation]:
    """Pools offer `num_seq_slots` rows; their buffers have those and the dummy rows behind them.

    The capacity is read from the configuration, its owner, never from the metadata of whatever drafted first.
    """
    for pool in view.now.pools:
        if pool is view.before_pool(pool.name):
            continue  # the very record of the last snapshot
        needed = len(view.span(pool))
        if pool.capacity != needed:
            yield view.broken(
                "I-CAP", "capacity", f"pool {pool.name} offers {pool.capacity} rows for {needed} {pool.unit}s",
                expected=needed, seen=pool.capacity, buffer=pool.name,
            )  # fmt: skip
    for _, buffer in view.changed:
        addressed = view.pool(buffer.space)
        if addressed is None:
            continue
        needed = len(view.span(addressed))
        expected = needed + buffer.extra
        if buffer.rows != expected:
            behind = "for the dummy" if buffer.extra == 1 else "beside them"
            reserve = f" and {buffer.extra} {behind}" if buffer.extra else ""
            wanted = f"{needed} {addressed.unit}s{reserve} need {expected}"
            yield view.broken(
                "I-CAP", "rows", f"{buffer.name} has {buffer.rows} rows; {wanted}",
                expected=expected, seen=buffer.rows, buffer=buffer.name,
            )  # fmt: skip


def rows_for_a_batch(view: View) -> Iterator[Violation]:
    """A buffer of batch rows has one for each row of the largest batch: judged where an operation raised.

    Elsewhere an engine may let such a buffer grow with its batches.
    """
    limit = view.config.max_num_requests
    for buffer in view.now.buffers:
        if buffer.space == "batch" and buffer.rows < limit + buffer.extra:
            yield view.broken(
                "I-CAP", "batch", f"{buffer.name} has {buffer.rows} rows; a batch has up to {limit}",
                expected=limit + buffer.extra, seen=buffer.rows, buffer=buffer.name,
            )  # fmt: skip
