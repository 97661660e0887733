"""Where a tensor's rows are, found by opening the target three times: as it is, with one seat more, with one
batch row more. A dimension that grows with the seats is slot-indexed, whatever its name or size says.

Sizes that coincide make a single look ambiguous; growth does not lie.
"""

from __future__ import annotations

from dataclasses import replace

from harness.protocol import Layout
from harness.scenario import Config, Warmup
from harness.targets import Target
from harness.targets.base import OpenOptions

__all__ = ["find_layout"]

_SEATS, _ROWS = 6, 4  # apart, so that a narrowing to the batch would show as a dimension that does not grow


def find_layout(target: Target, config: Config, options: OpenOptions) -> dict[str, Layout]:
    """Return the layout of every persistent tensor by name; capacities of `config` are replaced.

    The target is opened without its seeded faults: a pool sized from the wrong field does not grow.
    """
    options = replace(options, faults=())
    base = replace(config, num_seq_slots=_SEATS, max_num_requests=_ROWS, buckets=())
    plain = _shapes(target, base, options)
    by_slot = _shapes(target, replace(base, num_seq_slots=_SEATS + 1), options)
    by_row = _shapes(target, replace(base, max_num_requests=_ROWS + 1), options)
    return {name: _layout(shape, by_slot.get(name, ()), by_row.get(name, ())) for name, shape in plain.items()}


def _shapes(target: Target, config: Config, options: OpenOptions) -> dict[str, tuple[int, ...]]:
    session = target.open(config, options)
    try:
        session.apply(Warmup())  # lazily allocated buffers stand after the first draft
        return {name: tuple(item.tensor.shape) for name, item in session.inspect().tensors.items()}
    finally:
        session.close()


def _layout(plain: tuple[int, ...], by_slot: tuple[int, ...], by_row: tuple[int, ...]) -> Layout:
    if not len(plain) == len(by_slot) == len(by_row):
        return Layout("unclassified")
    slot_growth = _growth(plain, by_slot)
    row_growth = _growth(plain, by_row)
    if len(slot_growth) == 1 and not row_growth:
        return _placed("slot", plain, slot_growth[0], _SEATS)
    if len(row_growth) == 1 and not slot_growth:
        return _placed("batch", plain, row_growth[0], _ROWS)
    return Layout("unclassified" if slot_growth or row_growth else "fixed")


def _growth(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(dim, after[dim] - size) for dim, size in enumerate(before) if after[dim] != size]


def _placed(space: str, plain: tuple[int, ...], growth: tuple[int, int], capacity: int) -> Layout:
    dim, entries = growth
    extra, rest = divmod(plain[dim] - entries * capacity, entries) if entries > 0 else (0, 1)
    return Layout(space, dim, entries, extra) if not rest and extra >= 0 else Layout("unclassified")
