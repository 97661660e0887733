"""The main job through captured CUDA graphs: the same cells and the same drafted tokens as on a CPU."""

from __future__ import annotations

import pytest

from benchmarks.cuda_equals_cpu import compare
from harness.orders import DEFAULT_BUCKETS, sampled_orders
from harness.reproduce import Parameters

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("faults", [(), ("capacity-from-bucket",), ("pad-to-slot-zero",), ("stale-tail",)])
def test_verdicts_and_drafts_are_the_same_on_both_devices(faults: tuple[str, ...]) -> None:
    found = compare(Parameters(orders=sampled_orders(DEFAULT_BUCKETS, 4)), faults)
    assert found.equal, found
