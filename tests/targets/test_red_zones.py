"""Red zones: what a compiled kernel stores beside an engine's buffers is raised at its operation."""

from __future__ import annotations

import contextlib
from typing import Any, cast

import pytest
import torch

from harness.scenario import Step
from harness.targets.common.kernels import OutOfBoundsError
from harness.targets.common.session import Engine, ReleasedSession
from harness.targets.common.zones import Zones


def beyond(tensor: torch.Tensor, entry: int) -> torch.Tensor:
    """What stands at an entry that the tensor does not have."""
    return torch.as_strided(tensor, (1,), (1,), tensor.storage_offset() + entry)


@pytest.fixture
def zones() -> Zones:
    return Zones("cpu", kinds=("cpu",))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32])
def test_a_buffer_between_two_zones_is_what_was_asked_for(zones: Zones, dtype: torch.dtype) -> None:
    with zones.allocating():
        made = torch.ones(3, 5, dtype=dtype)
        copied = made[1:].clone()
    assert made.dtype == dtype
    assert made.is_contiguous()
    assert torch.equal(made, torch.ones(3, 5, dtype=dtype))
    assert torch.equal(copied, torch.ones(2, 5, dtype=dtype))
    made.zero_()
    zones.check()


@pytest.mark.parametrize(("entry", "side"), [(15, "behind"), (1000, "behind"), (-1, "before"), (-900, "before")])
def test_a_store_beside_a_buffer_is_raised_with_the_place_of_its_allocation(
    zones: Zones, entry: int, side: str
) -> None:
    with zones.allocating():
        made = torch.zeros(3, 5)
        torch.zeros(4)
    beyond(made, entry).fill_(1.0)
    with pytest.raises(OutOfBoundsError, match=rf"4 bytes {side} what was .* in .*/test_red_zones.py:\d+"):
        zones.check()


def test_what_is_allocated_outside_the_scope_or_elsewhere_or_empty_has_no_zones() -> None:
    zones = Zones("cpu", kinds=("cpu",))
    outside = torch.zeros(3)
    with zones.allocating():
        elsewhere, nothing = torch.zeros(3, device="meta"), torch.zeros(0)
    watched = Zones("cpu")
    with watched.allocating():
        interpreted = torch.zeros(3)
    for tensor in (outside, elsewhere, nothing, interpreted):
        assert tensor.storage_offset() == 0


def test_an_operation_that_stored_beside_a_buffer_fails(zones: Zones) -> None:
    with zones.allocating():
        made = torch.zeros(4)

    class Stray:
        def begin(self) -> None: ...

        def rows(self) -> dict[str, int]:
            return {}

        def step(self, *_: Any) -> None:
            beyond(made, 4).fill_(1.0)

    session = ReleasedSession("Stray", cast("Engine", Stray()), contextlib.nullcontext, zones.check)
    with pytest.raises(OutOfBoundsError, match="stored out of bounds"):
        session.apply(Step())
