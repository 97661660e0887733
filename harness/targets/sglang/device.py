"""The engine on a CPU: what its code says to a stream is heard by nobody, for everything is done at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch

from harness.targets.common.kernels import interpret_kernels

__all__ = ["computing", "kernels_on_cpu"]

_KERNELS = ("sglang.kernels.ops.speculative",)
# Where the engine asks for the platform before it launches a kernel.
_ASKS_FOR_CUDA = ("sglang.kernels.ops.speculative.cache_locs",)
_ASKS_FOR_INPUTS = "inputs_on_cuda"


def kernels_on_cpu() -> None:
    """Let the loaded engine launch its kernels on CPU tensors: it is told that they are where kernels run."""
    for name, module in list(sys.modules.items()):
        if name in _ASKS_FOR_CUDA:
            module._is_cuda = True  # type: ignore[attr-defined]  # what it was told by the platform
        if name.startswith("sglang.") and _ASKS_FOR_INPUTS in vars(module):
            setattr(module, _ASKS_FOR_INPUTS, lambda *_, **__: True)
    interpret_kernels(_KERNELS)


def _nothing(*_: Any, **__: Any) -> None: ...


def _no() -> bool:
    return False


@contextlib.contextmanager
def computing(device: str) -> Iterator[None]:
    """Let the engine's code compute on `device`."""
    if device.startswith("cuda"):
        with torch.cuda.device(device):
            yield
        return
    replaced: list[tuple[Any, str, Any]] = []
    # What CUDA's module has and the CPU's has not; no event of the engine's need be in a tape.
    answers = (
        (torch.Tensor, "record_stream", _nothing),
        (torch.cpu, "is_current_stream_capturing", _no),
        (torch.cuda, "is_current_stream_capturing", _no),
    )
    try:
        for owner, name, answer in answers:
            replaced.append((owner, name, getattr(owner, name, None)))
            setattr(owner, name, answer)
        yield
    finally:
        for owner, name, value in replaced:
            setattr(owner, name, value) if value is not None else delattr(owner, name)
