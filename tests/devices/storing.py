"""A target whose request `store-far-away` stores out of bounds in a CUDA kernel. Loaded in the host."""

from __future__ import annotations

import misbehaving

from harness.scenario import Admit, Config, Operation
from harness.targets.base import OpenOptions

_KERNEL = """
extern "C" __global__ void store_far_away(float* values) {
    values[(1LL << 40) + threadIdx.x] = 1.0f;
}
"""


class Session(misbehaving.Session):
    """Every case uses the device; one stores four terabytes behind its allocation."""

    def apply(self, operation: Operation) -> None:
        import torch

        values = torch.zeros(32, device="cuda")
        if isinstance(operation, Admit) and operation.request == "store-far-away":
            kernel = torch.cuda._compile_kernel(_KERNEL, "store_far_away")
            kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[values])
        assert float(values.sum()) == 0.0  # waits for the device


class Storing(misbehaving.Misbehaving):
    def open(self, config: Config, options: OpenOptions) -> Session:
        del config, options
        return Session()
