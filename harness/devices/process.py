"""CUDA inside this very process, where a tree's own tests use it. Nothing here imports torch."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["allocated_bytes", "is_alive", "process_name", "tidy", "uses_cuda"]


def uses_cuda() -> bool:
    """Return whether this process has initialised CUDA through torch: it cannot change its devices any more."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def tidy() -> None:
    """Free what this process keeps on its devices and nobody uses."""
    if not uses_cuda():
        return
    gc.collect()
    sys.modules["torch"].cuda.empty_cache()


def allocated_bytes(index: int) -> int:
    """Return how many bytes tensors of this process hold on its `index`-th visible device."""
    if not uses_cuda():
        return 0
    try:
        return int(sys.modules["torch"].cuda.memory_allocated(index))
    except Exception:  # a context that a test broke answers nothing
        return 0


def process_name(pid: int) -> str:
    """Return a name of a process that no later one of the same number has."""
    return f"{pid}:{_started(pid)}"


def is_alive(name: str) -> bool:
    """Return whether the process of this name still runs."""
    pid, _, started = name.partition(":")
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):  # no Linux, or no such process
        return ""
