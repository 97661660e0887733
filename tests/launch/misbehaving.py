"""A target whose requests' names say what goes wrong when they are admitted. Loaded in the host."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness.protocol import Description
from harness.scenario import OPERATIONS, Admit, Config, Operation
from harness.targets.base import Inspection, OpenOptions, UnsupportedError


def _segfault() -> None:
    ctypes.string_at(0)


def _loop() -> None:
    while True:
        pass


def _leave_a_child() -> None:
    if os.fork() == 0:
        Path(os.environ["LEFT_BEHIND"]).write_text(str(os.getpid()))
        while True:
            time.sleep(3600)
    while not Path(os.environ["LEFT_BEHIND"]).exists():
        time.sleep(0.01)


def _kill_zygote() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    _loop()


def _shout() -> None:
    os.write(1, b"a C library prints on descriptor 1\n")
    sys.stdout.write("and so does Python\n")


def _raise() -> None:
    raise ValueError("the worker says no")


def _unsupported() -> None:
    raise UnsupportedError("no such thing here")


def _parallel() -> None:
    import torch

    torch.set_num_threads(2)
    a = torch.ones(700, 700)
    assert float((a @ a)[0, 0]) == 700.0
    torch.set_num_threads(1)


def _out_of_bounds() -> None:
    import torch

    values = torch.zeros(2, device="cuda")
    values[torch.tensor([1000], device="cuda")].sum().item()


_DEEDS: dict[str, Callable[[], object]] = {
    "segfault": _segfault,
    "loop": _loop,
    "leave-a-child": _leave_a_child,
    "kill-myself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "kill-zygote": _kill_zygote,
    "exit": lambda: os._exit(3),
    "raise": _raise,
    "exit-politely": lambda: sys.exit(5),
    "shout": _shout,
    "parallel": _parallel,
    "out-of-bounds": _out_of_bounds,
    "unsupported": _unsupported,
}


class Session:
    def apply(self, operation: Operation) -> None:
        if isinstance(operation, Admit):
            _DEEDS.get(operation.request, lambda: None)()

    def inspect(self) -> Inspection:
        seen = {"pid": os.getpid(), "gpus hidden": int(os.environ.get("CUDA_VISIBLE_DEVICES") == "")}
        return Inspection({}, {}, (), {}, seen)

    def close(self) -> None:
        pass


class Misbehaving:
    def describe(self) -> Description:
        names = tuple(OPERATIONS)
        return Description(
            "misbehaving", "1", ("cpu", "cuda"), ("dflash",), names, {}, "none", "never", False, (), ()
        )

    def open(self, config: Config, options: OpenOptions) -> Session:
        del options
        if config.seed == 13:
            raise RuntimeError("will not open")
        return Session()
