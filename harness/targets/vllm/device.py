"""The engine on its device. On CUDA it is left alone: streams and graphs are its own.

On a CPU streams and events have nothing to wait for, and a CUDA graph is what the host captures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from harness.targets.base import Capture

__all__ = ["computing", "recorded"]


class _Graph:
    """What the engine's capture loop makes for each shape."""

    def replay(self) -> None:
        """Nothing is captured yet."""
        raise RuntimeError("a graph was replayed that holds no forward")


_open: list[_Graph] = []


@contextlib.contextmanager
def _capturing(graph: _Graph, *_: Any, **__: Any) -> Iterator[None]:
    _open.append(graph)
    try:
        yield
    finally:
        _open.pop()


def recorded(forward: Callable[[Any], None], capture: Capture) -> Callable[[Any], None]:
    """Return a forward of a graph's mode that is captured where the engine captures, and just runs elsewhere."""

    def run(mode: Any) -> None:
        if not _open:
            forward(mode)
            return
        _open[-1].replay = capture(lambda: forward(mode), keep=False)  # type: ignore[method-assign]  # a stand-in

    return run


class _Stream:
    """A stream or an event: everything is done at once."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in ("wait_stream", "wait_event", "record", "synchronize"):
            raise AttributeError(name)
        return lambda *_, **__: None


def _nothing(*_: Any, **__: Any) -> None: ...


@contextlib.contextmanager
def computing(device: str) -> Iterator[None]:
    """Let the engine's code compute on `device`."""
    if device.startswith("cuda"):
        with torch.cuda.device(device):
            yield
        return
    answers = (
        (torch.Tensor, "record_stream", _nothing),
        (torch.accelerator, "synchronize", _nothing),
        (torch.accelerator, "empty_cache", _nothing),
        (torch.accelerator, "get_memory_info", lambda: (0, 0)),
        (torch.cuda, "Stream", _Stream),
        (torch.cuda, "Event", _Stream),
        (torch.cuda, "current_stream", _Stream),
        (torch.cuda, "set_stream", _nothing),
        (torch.cuda, "CUDAGraph", _Graph),
        (torch.cuda, "graph", _capturing),
    )
    with contextlib.ExitStack() as undo:
        for owner, name, answer in answers:
            undo.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, answer)
        yield
