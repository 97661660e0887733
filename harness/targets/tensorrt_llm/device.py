"""How code written for CUDA runs on a CPU: every way of naming the device leads back to the CPU.

A function mode catches `device=`, `.to("cuda")`, `.cuda()` and pinning; streams, events, generators and
questions about memory are no tensor functions and get a facade while a session computes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Device"]

_PLENTY = 1 << 40  # bytes: more than any toy needs, so that no estimate of free memory binds


class Device:
    """The device of one session, and whether it is capturing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.on_cpu = not name.startswith("cuda")
        self._capturing = False

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Let the tree's code compute: on a CPU with the device redirected, on CUDA as it is."""
        if not self.on_cpu:
            with torch.cuda.device(self.name):
                yield
            return
        with _facade(self), _CpuRedirect():
            yield

    def importing(self) -> contextlib.AbstractContextManager[object]:
        """Let the tree's modules be imported: no facade, for torch's compiler keeps a table of `torch.cuda`."""
        return _CpuRedirect() if self.on_cpu else contextlib.nullcontext()

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Answer "capturing" while a forward is recorded on a CPU; CUDA knows by itself."""
        self._capturing = True
        try:
            yield
        finally:
            self._capturing = False

    def is_capturing(self) -> bool:
        """Say whether a forward is being recorded."""
        return self._capturing


def _is_cuda(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


_NAMES_A_DEVICE = (str, torch.device)
_STAYS_PUT = (torch.Tensor.cuda, torch.Tensor.pin_memory)


class _CpuRedirect(TorchFunctionMode):
    """Sends to the CPU what asks for CUDA."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        for value in args:  # every operation comes by here: a plain loop, and no call for what is a tensor
            if type(value) in _NAMES_A_DEVICE and str(value).startswith("cuda"):
                args = tuple("cpu" if _is_cuda(value) else value for value in args)
                break
        if not kwargs:
            return args[0] if func in _STAYS_PUT else func(*args)
        if _is_cuda(kwargs.get("device")):
            kwargs = {**kwargs, "device": "cpu"}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        return args[0] if func in _STAYS_PUT else func(*args, **kwargs)


class _Idle:
    """A stream or event on a device that computes at once: there is nothing to wait for."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> _Idle:
        return self

    def __exit__(self, *_: object) -> None: ...

    def record(self, *_: Any) -> None:
        """Nothing to mark."""

    record_event = wait = wait_event = wait_stream = synchronize = record

    def query(self) -> bool:
        """Everything is done."""
        return True


class _CpuGenerator(torch.Generator):
    """A generator asked for on CUDA."""

    def __new__(cls, device: Any = "cpu") -> _CpuGenerator:
        return super().__new__(cls, "cpu" if _is_cuda(device) else device)  # type: ignore[call-arg]  # C code


def _nothing(*_: Any, **__: Any) -> None: ...


@contextlib.contextmanager
def _facade(device: Device) -> Iterator[None]:
    replaced: list[tuple[Any, str, Any]] = []
    answers: dict[str, Any] = {
        "is_current_stream_capturing": device.is_capturing,
        "Stream": _Idle, "Event": _Idle, "stream": _Idle, "current_stream": _Idle, "default_stream": _Idle,
        "device": _Idle, "set_device": _nothing, "synchronize": _nothing, "empty_cache": _nothing,
        "current_device": lambda: 0,
        "mem_get_info": lambda *_: (_PLENTY, _PLENTY),
        "memory_reserved": lambda *_: 0, "memory_allocated": lambda *_: 0,
        "get_device_capability": lambda *_: (9, 0),
        "get_device_properties": lambda *_: SimpleNamespace(total_memory=_PLENTY, multi_processor_count=1),
    }  # fmt: skip
    try:
        for name, answer in answers.items():
            replaced.append((torch.cuda, name, getattr(torch.cuda, name)))
            setattr(torch.cuda, name, answer)
        replaced.append((torch, "Generator", torch.Generator))
        torch.Generator = _CpuGenerator  # type: ignore[misc]  # the facade is the point
        yield
    finally:
        for owner, name, value in replaced:
            setattr(owner, name, value)
