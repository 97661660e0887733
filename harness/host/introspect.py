"""Where a tensor's rows are, found by opening the target three times: as it is, with one seat more, with one
batch row more. A dimension that grows with the seats is slot-indexed, whatever its name or size says.

Sizes that coincide make a single look ambiguous; growth does not lie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.protocol import Layout
from harness.scenario import Config, Warmup
from harness.targets import Target, UnsupportedError
from harness.targets.base import OpenOptions

__all__ = ["find_layout"]

_SEATS, _ROWS = 6, 4  # apart, so that a narrowing to the batch would show as a dimension that does not grow


def find_layout(target: Target, config: Config, options: OpenOptions) -> dict[str, Layout]:
    """Return the layout of every persistent tensor by name; capacities of `config` are replaced.

    The target is opened without its seeded faults: a pool sized from the wrong field does not grow. A tree
    may have that very fault: a tensor that a pool addresses and that grows as the pool itself does is
    slot-indexed, even if both grow with the wrong capacity. Empty if the target raises while it warms up:
    the runs show that again, with its operation.

    A tensor that the second of two equal forwards made anew is that forward's own, and no buffer: "transient".
    """
    options = replace(options, faults=())
    base = replace(config, num_seq_slots=_SEATS, max_num_requests=_ROWS, buckets=())
    try:
        plain = _look(target, base, options)
        by_slot = _look(target, replace(base, num_seq_slots=_SEATS + 1), options)
        by_row = _look(target, replace(base, max_num_requests=_ROWS + 1), options)
    except _RaisedError:
        return {}
    layouts = {name: _layout(name, plain, by_slot, by_row) for name in plain.shapes}
    return layouts | dict.fromkeys(plain.transient, Layout("transient"))


class _RaisedError(Exception):
    """The target raised in its warm-up."""


@dataclass(frozen=True)
class _Look:
    """One opening: the shape of each tensor, the pool that addresses it, and the capacity of each pool.

    transient  tensors that a second forward replaced.
    """

    shapes: dict[str, tuple[int, ...]]
    pools: dict[str, str]
    capacities: dict[str, int]
    transient: frozenset[str]


def _look(target: Target, config: Config, options: OpenOptions) -> _Look:
    session = target.open(config, options)
    try:
        session.apply(Warmup())  # lazily allocated buffers stand after the first draft
        first = session.inspect()
        # Their storages are kept alive until the comparison, so that none is used again.
        storages = {name: item.tensor.untyped_storage() for name, item in first.tensors.items()}
        session.apply(Warmup())
        seen = session.inspect()
    except UnsupportedError:
        raise
    except Exception as error:
        raise _RaisedError from error
    finally:
        session.close()
    return _Look(
        {name: tuple(item.tensor.shape) for name, item in seen.tensors.items()},
        {name: item.pool for name, item in seen.tensors.items()},
        {pool.name: pool.capacity for pool in seen.pools},
        frozenset(
            name
            for name, storage in storages.items()
            if name in seen.tensors and seen.tensors[name].tensor.untyped_storage()._cdata != storage._cdata
        ),
    )


def _layout(name: str, plain: _Look, by_slot: _Look, by_row: _Look) -> Layout:
    shapes = [look.shapes.get(name, ()) for look in (plain, by_slot, by_row)]
    if len({len(shape) for shape in shapes}) > 1:
        return Layout("unclassified")
    slot_growth, row_growth = _growth(shapes[0], shapes[1]), _growth(shapes[0], shapes[2])
    if len(slot_growth) == 1 and not row_growth:
        return _paged(name, plain, by_slot, slot_growth[0]) or _placed("slot", shapes[0], slot_growth[0], _SEATS)
    if len(row_growth) == 1 and not slot_growth:
        capacities = [look.capacities.get(plain.pools[name]) for look in (plain, by_slot, by_row)]
        if capacities == [_ROWS, _ROWS, _ROWS + 1]:
            return _placed("slot", shapes[0], row_growth[0], _ROWS)
        return _placed("batch", shapes[0], row_growth[0], _ROWS)
    return Layout("unclassified" if slot_growth or row_growth else "fixed")


def _paged(name: str, plain: _Look, by_slot: _Look, growth: tuple[int, int]) -> Layout | None:
    """Return the layout of a tensor whose pool has several rows a seat: it grows by as many as the pool does."""
    pool, (dim, more) = plain.pools[name], growth
    capacity = plain.capacities.get(pool, 0)
    if more == 1 or by_slot.capacities.get(pool, 0) - capacity != more:
        return None
    return Layout("slot", dim, 1, plain.shapes[name][dim] - capacity)


def _growth(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(dim, after[dim] - size) for dim, size in enumerate(before) if after[dim] != size]


def _placed(space: str, plain: tuple[int, ...], growth: tuple[int, int], capacity: int) -> Layout:
    dim, entries = growth
    extra, rest = divmod(plain[dim] - entries * capacity, entries) if entries > 0 else (0, 1)
    return Layout(space, dim, entries, extra) if not rest and extra >= 0 else Layout("unclassified")
