"""Red zones around an engine's buffers on CUDA, where a compiled kernel may store anywhere and nothing is raised.

What the engine allocates while it is built stands between two zones that are nobody's. They hold a pattern, and
are looked at after every operation. The idea is AddressSanitizer's: Serebryany, Bruening, Potapenko and Vyukov,
"AddressSanitizer: A Fast Address Sanity Checker", USENIX ATC 2012. A store that leaps over a zone is not seen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from harness.targets.common.kernels import OutOfBoundsError

__all__ = ["Zones"]

_ZONE = 4096  # bytes on each side; a multiple of every alignment that a kernel may count on
_PATTERN = 0xA5
_ALLOCATIONS = frozenset({
    torch.zeros, torch.ones, torch.empty, torch.full, torch.arange, torch.zeros_like, torch.ones_like,
    torch.empty_like, torch.full_like, torch.Tensor.clone, torch.Tensor.new_zeros, torch.Tensor.new_empty,
    torch.Tensor.new_full,
})  # fmt: skip
_THIS = str(Path(__file__))
_TORCH = str(Path(torch.__file__).parent)


@dataclass(frozen=True)
class _Zone:
    """Some bytes that are nobody's: `place` is where their buffer was allocated, `side` where they lie to it."""

    content: torch.Tensor
    place: str
    side: str


class Zones:
    """The zones of one session on `device`: none on a CPU, where every store of a kernel is looked up.

    `kinds` are those of devices on which there are zones.
    """

    def __init__(self, device: str, kinds: tuple[str, ...] = ("cuda",)) -> None:
        self._kind = device.partition(":")[0]
        self._kinds = kinds
        self._zones: list[_Zone] = []

    @contextlib.contextmanager
    def allocating(self) -> Iterator[None]:
        """Give zones to every buffer that is allocated on the device in this scope."""
        with _Allocating(self) if self._kind in self._kinds else contextlib.nullcontext():
            yield

    def guard(self, made: torch.Tensor) -> torch.Tensor:
        """Return a contiguous tensor with the content of `made` between two zones; elsewhere `made` itself."""
        if made.device.type != self._kind or made.numel() == 0:
            return made
        count, entries = made.numel(), _ZONE // made.element_size()
        # Bytes first: a pattern is no number of every type.
        whole = torch.full(
            (2 * _ZONE + count * made.element_size(),), _PATTERN, dtype=torch.uint8, device=made.device
        )
        place = _place()
        self._zones += [_Zone(whole[:_ZONE], place, "before"), _Zone(whole[-_ZONE:], place, "behind")]
        return whole.view(made.dtype)[entries : entries + count].view(made.shape).copy_(made)

    def check(self) -> None:
        """Raise `OutOfBoundsError` if anything was stored in a zone."""
        if not self._zones or bool((torch.cat([zone.content for zone in self._zones]) == _PATTERN).all()):
            return
        hit = next(zone for zone in self._zones if bool((zone.content != _PATTERN).any()))
        count = int((hit.content != _PATTERN).sum())
        raise OutOfBoundsError(f"stored out of bounds: {count} bytes {hit.side} what was allocated in {hit.place}")


class _Allocating(TorchFunctionMode):
    def __init__(self, zones: Zones) -> None:
        super().__init__()
        self._zones = zones

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        made = func(*args, **(kwargs or {}))
        return self._zones.guard(made) if func in _ALLOCATIONS else made


def _place() -> str:
    """Return file and line of whoever asked for the allocation."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_THIS, _TORCH)):
        frame = frame.f_back
    return f"{'/'.join(Path(frame.f_code.co_filename).parts[-3:])}:{frame.f_lineno}"
