"""Orders of buckets, and the regimes that say how the seat pool relates to them.

Two axes: a capture order says which bucket's graph is captured when, a use order which is run when.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from harness.errors import UsageError

__all__ = [
    "CONFIG_REGIME", "DEFAULT_BUCKETS", "REGIMES",
    "all_orders", "parse_orders", "regime_capacities", "sampled_orders",
]  # fmt: skip

Order = tuple[int, ...]

# Gaps on purpose: three live requests pad to 4, so every sweep has padding rows in a graph.
DEFAULT_BUCKETS: Order = (1, 2, 4, 5)

REGIMES: dict[str, str] = {
    "exact": "num_seq_slots = max_num_requests = the largest bucket",
    "production": "the largest bucket < num_seq_slots = max_num_requests",
    "headroom": "num_seq_slots > max_num_requests = the largest bucket",
    "unset": "num_seq_slots missing: it falls back to max_num_requests = the largest bucket",
}


# The capacities of a configuration that a person gave; no rule says how they relate.
CONFIG_REGIME = "config"


def regime_capacities(regime: str, buckets: Sequence[int]) -> tuple[int, int]:
    """Return (num_seq_slots, max_num_requests) of a regime for these buckets; 0 stands for unset."""
    largest = max(buckets)
    return {
        "exact": (largest, largest),
        "production": (largest + 1, largest + 1),
        "headroom": (largest + 2, largest),
        "unset": (0, largest),
    }[regime]


def all_orders(buckets: Sequence[int]) -> tuple[Order, ...]:
    """Return every permutation, the descending one (production's habit) first."""
    return tuple(itertools.permutations(sorted(buckets, reverse=True)))


def sampled_orders(buckets: Sequence[int], count: int, seed: int = 0) -> tuple[Order, ...]:
    """Return `count` different permutations: descending, ascending, then seeded random ones.

    All of them when there are no more than `count`. Never lists all permutations of a large set.
    """
    descending = tuple(sorted(buckets, reverse=True))
    chosen = dict.fromkeys([descending, descending[::-1]][:count])
    total = 1
    for factor in range(2, len(descending) + 1):
        total *= factor
    if total <= count:
        return all_orders(buckets)
    generator = random.Random(seed)
    while len(chosen) < count:
        chosen[tuple(generator.sample(descending, len(descending)))] = None
    return tuple(chosen)


def parse_orders(text: str, buckets: Sequence[int]) -> tuple[Order, ...]:
    """Read `all`, `sample:N`, or one order such as `4,2,1`. Raises `UsageError`."""
    if text == "all":
        return all_orders(buckets)
    kind, _, rest = text.partition(":")
    if kind == "sample" and rest.isdecimal() and int(rest) > 0:
        return sampled_orders(buckets, int(rest))
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"--orders {text}: expected 'all', 'sample:N' with N > 0, or buckets such as '4,2,1'")
    order = tuple(int(part) for part in parts)
    if 0 in order or len(set(order)) < len(order):
        raise UsageError(f"--orders {text}: buckets are different numbers from 1 up")
    return (order,)
