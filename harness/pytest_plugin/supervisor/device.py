"""Whether this process's CUDA context still works. torch is asked only where a test imported it."""

from __future__ import annotations

import sys

__all__ = ["device_error"]


def device_error() -> str:
    """Wait for the device and return the sticky error of its context, "" for none.

    Kernels run on after the call that starts them: without waiting, a test's error would be the next one's.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return ""
    try:
        cuda.synchronize()
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return ""
