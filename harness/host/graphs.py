"""How a forward becomes replayable: a CUDA graph on a GPU, the tape on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakSet

import torch

from harness.host.graph_tape import tape_capture
from harness.targets.base import Capture

__all__ = ["capture_for"]


def capture_for(device: str) -> Capture:
    """Return the capture of one session on `device`; its CUDA graphs share one memory pool.

    Either kind runs the forward once beside capturing it: on CUDA before, as the tape while it records.
    """
    return _cuda_capture() if device.startswith("cuda") else tape_capture


def _cuda_capture() -> Capture:
    pool = torch.cuda.graph_pool_handle()
    alive: WeakSet[torch.cuda.CUDAGraph] = WeakSet()

    def capture(forward: Callable[[], None], *, keep: bool = True) -> Callable[[], None]:
        nonlocal pool
        del keep  # whoever asks for it undoes a warm-up's changes by itself
        forward()  # the warm-up: kernels are loaded and workspaces allocated outside the capture
        torch.cuda.synchronize()
        if not alive:
            pool = torch.cuda.graph_pool_handle()  # a pool goes with the last graph in it, its handle too
        graph = torch.cuda.CUDAGraph()
        # thread_local: a call of another thread (the host's watchdog) must not break the capture.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            forward()
        alive.add(graph)
        return graph.replay

    return capture
