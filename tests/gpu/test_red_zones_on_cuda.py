"""Red zones on the device they are for: a compiled kernel stores beside a buffer, and nothing else would tell."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.targets.common.kernels import OutOfBoundsError
from harness.targets.common.zones import Zones

pytestmark = pytest.mark.gpu


def store_at() -> Any:
    """Return a kernel that stores 1 at an entry of a buffer, whether it has one there or not."""
    triton = pytest.importorskip("triton", reason="triton comes with torch for CUDA")

    @triton.jit
    def kernel(buffer, entry):  # type: ignore[no-untyped-def]  # its types are triton's
        triton.language.store(buffer + entry, 1)

    return kernel


@pytest.mark.parametrize(("entry", "side"), [(7, ""), (8, "behind"), (500, "behind"), (-1, "before")])
def test_what_a_compiled_kernel_stores_beside_a_buffer_is_raised(entry: int, side: str) -> None:
    zones = Zones("cuda:0")
    with zones.allocating():
        buffers = [torch.zeros(8, dtype=torch.int64, device="cuda:0") for _ in range(3)]
    store_at()[(1,)](buffers[1], entry)
    torch.cuda.synchronize()
    if not side:
        zones.check()
        return
    with pytest.raises(OutOfBoundsError, match=rf"8 bytes {side} what was allocated in"):
        zones.check()
