"""K01: capacity taken from the wrong source."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["CAPACITY_FAULTS"]


def _from_bucket(parts: Parts) -> Parts:
    return replace(parts, pool_capacity=lambda metadata: metadata.max_num_requests)


CAPACITY_FAULTS = (
    Fault(
        "capacity-from-bucket", "K01", "nvbugs/6535874",
        "the worker's pools are sized from max_num_requests, which a graph's metadata narrows to its bucket",
        _from_bucket,
    ),
)  # fmt: skip
