"""The engine on a CPU: what its code says to a stream is heard by nobody, for everything is done at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["computing"]


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
