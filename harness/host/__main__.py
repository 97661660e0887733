"""A host process: `python -m harness.host FD LIFELINE MODE PARENT`.

MODE fork: a zygote, which imported torch and ran nothing, forks a process for each request.
MODE reuse: this process serves the requests itself (CUDA, where a fork cannot follow a context).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import threading
import warnings
from typing import IO, Any, NoReturn

__all__: list[str] = []

_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even by SIGKILL (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


def _watch_lifeline(lifeline: int) -> None:
    """End this process group when the harness is gone, where the kernel does not do it for us."""

    def wait() -> None:
        os.read(lifeline, 1)  # nothing is ever written: this returns at end of file
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True, name="lifeline").start()


class _Channel:
    """JSON lines over the private descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._lines: IO[bytes] = self._socket.makefile("rb")

    def read(self) -> bytes:
        """Return one line; empty at end of file."""
        return self._lines.readline()

    def write(self, value: Any) -> None:
        """Send `value` as one line."""
        from harness.codec import dumps

        self._socket.sendall(dumps(value).encode() + b"\n")


def _serve(line: bytes, channel: _Channel) -> bool:
    import json

    from harness.codec import decode
    from harness.host.session import serve_request
    from harness.protocol import Reply, Request

    request = decode(Request, json.loads(line))

    def emit(reply: Reply) -> bool:
        channel.write({name: value for name, value in vars(reply).items() if value is not None})
        if reply.snapshot is None or not request.lockstep:
            return True
        answer = channel.read()
        return bool(answer and json.loads(answer)["go"])

    channel.write({"pid": os.getpid()})
    return serve_request(request, emit)


def _hide_gpus(line: bytes) -> None:
    """Leave no GPU in sight of a case on a CPU.

    Engines ask what a machine has, and no fork can use what its zygote had begun of CUDA.
    """
    if b'"device":"cpu"' in line:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def _preload(line: bytes) -> None:
    """Import in the zygote what its forks would each import again. What goes wrong, each of them says itself."""
    import json

    from harness.targets import load_target
    from harness.targets.base import Sourced

    if b'"source":""' in line:
        return  # most requests have none: a case of the embedded engine takes a few milliseconds in all
    request = json.loads(line)
    target = load_target(request["target"])
    if isinstance(target, Sourced):
        with contextlib.suppress(Exception):
            target.preload(request["source"])
        gc.freeze()


class _Zygote:
    """Forks a process for each request and waits for it, or for the end of the harness.

    The fork itself has no thread that watches: a new thread would cost every case more than its step does.
    """

    def __init__(self, channel: _Channel, lifeline: int) -> None:
        self._channel = channel
        self._lifeline = lifeline
        self._wakeup, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # with a handler the signal writes to the pipe
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def run(self, line: bytes) -> None:
        """Serve one request in a fork and report how that process ended."""
        _hide_gpus(line)
        _preload(line)
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._serve_forked(line, zygote)
        status = self._wait(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # whatever the case left running
        self._channel.write({"exit": os.waitstatus_to_exitcode(status)})

    def _serve_forked(self, line: bytes, zygote: int) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            _die_with_parent(zygote)
            _serve(line, self._channel)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)  # no destructors, no atexit: the memory is the zygote's

    def _wait(self, pid: int) -> int:
        while True:
            ready, _, _ = select.select([self._lifeline, self._wakeup], [], [])
            if self._lifeline in ready:
                os.killpg(pid, signal.SIGKILL)
                os._exit(1)
            os.read(self._wakeup, 512)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status


def _main(descriptor: int, lifeline: int, mode: str, parent: int) -> None:
    _die_with_parent(parent)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # how the parent asks a hung case where it is
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

    if mode == "fork":
        from harness.host.rehearsal import rehearse

        rehearse()
    channel = _Channel(descriptor)
    gc.collect()
    gc.freeze()  # what is imported stays: neither collected again nor copied into forks
    if mode == "reuse":
        _watch_lifeline(lifeline)
        _serve_all(channel)
        return
    zygote = _Zygote(channel, lifeline)
    while line := channel.read():
        zygote.run(line)


def _serve_all(channel: _Channel) -> None:
    alive = True
    while alive and (line := channel.read()):
        _hide_gpus(line)
        alive = _serve(line, channel)
        gc.collect()
        channel.write({"exit": 0})


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
