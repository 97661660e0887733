"""One host process seen from the parent, and the case that it is running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.codec import decode, dumps
from harness.protocol import Description, End, Layout, Reply, Request, with_changes
from harness.trace import Outcome, Snapshot, Trace, Violation

__all__ = ["Host", "InlineHost", "Job", "interpreter_of", "leased_devices"]

_START_LIMIT = 120.0  # seconds for the interpreter and torch, on top of the first operation's own limit
# The host runs this very package, whatever folder named `harness` the current directory may hold; a target of
# the user's own may be there.
# Of what lies beside this package nothing is shown to the host: it may be another interpreter with other packages.
_BOOT = (
    "import importlib.util as i, os, runpy, sys; sys.path[0:1] = []; sys.path.append(os.getcwd()); "
    "root = sys.argv.pop(1); "
    "spec = i.spec_from_file_location('harness', root + '/__init__.py', submodule_search_locations=[root]); "
    "sys.modules['harness'] = i.module_from_spec(spec); spec.loader.exec_module(sys.modules['harness']); "
    "runpy.run_module('harness.host', run_name='__main__', alter_sys=True)"
)
# A fork copies the tables of all pages that its zygote wrote, most of them of the heap: with huge pages there
# (glibc's words for them, and for room that they fit in) there is less to copy. Elsewhere it means nothing.
_HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=134217728"}
_LOG_TAIL = 4000  # characters of a dead host's output that go into the trace


@dataclass
class Job:
    """One request and what came back. `trace` collects a run; a run without an `end` was cut short."""

    request: Request
    limit: float
    index: int = 0
    trace: Trace | None = None
    watch: Callable[[Snapshot], Sequence[Violation]] = lambda _: ()
    keep_going: bool = False
    end: End | None = None
    layout: dict[str, Layout] | None = None
    description: Description | None = None
    opened: bool = False
    broke: tuple[Outcome, str] | None = None
    stopped: bool = False
    log: str = ""

    def take(self, reply: Reply) -> bool:
        """Note a reply; return whether the run goes on. What comes after a stop is not looked at."""
        for name in ("end", "layout", "description", "opened"):
            value = getattr(reply, name)
            if value is not None:
                setattr(self, name, value)
        if reply.snapshot is None or self.stopped:
            return not self.stopped
        assert self.trace is not None
        snapshots = self.trace.snapshots
        snapshots.append(with_changes(snapshots[-1] if snapshots else None, reply.snapshot))
        self.trace.violations += self.watch(snapshots[-1])
        self.stopped = bool(self.trace.violations) and not self.keep_going
        return not self.stopped

    def close(self, status: int | None, log: str) -> None:
        """Settle the outcome once the process is done; `status` is its exit status, None if it vanished."""
        if self.end is None and self.broke is None and not self.stopped:
            self.broke = Outcome.CRASH, _cause(status)
        self.log = log
        if self.trace is not None:
            self._settle(self.trace)

    def _settle(self, trace: Trace) -> None:
        if self.end is not None:
            trace.device = self.end.device or trace.device
        if self.stopped:  # however far the host ran ahead, and whatever happened to it there
            trace.outcome, trace.at = Outcome.VIOLATION, trace.violations[0].operation
        elif self.broke is not None:
            trace.outcome, trace.detail = self.broke
            trace.at = len(trace.snapshots) if self.opened else -1
            trace.log = self.log[-_LOG_TAIL:]
        elif self.end is not None:
            trace.outcome, trace.detail, trace.at = self.end.outcome, self.end.detail, self.end.at
            trace.log = self.end.traceback
            trace.left = self.end.last
        if trace.violations and trace.outcome is Outcome.OK:
            trace.outcome, trace.at = Outcome.VIOLATION, trace.violations[0].operation

    def outcome(self) -> Outcome | None:
        """Return how the request ended, None if it simply was answered."""
        return self.broke[0] if self.broke else self.end.outcome if self.end else None

    def told(self) -> str:
        """Return all there is to read about a failure: the traceback, or what the process printed."""
        return self.end.traceback if self.end is not None else self.log[-_LOG_TAIL:]

    def failure(self) -> str:
        """Return why there is no answer, in one line."""
        if self.end is not None:
            return self.end.detail
        last = self.log.strip().splitlines()[-1:]
        return ": ".join([self.broke[1] if self.broke else "no answer", *last])


def _cause(status: int | None) -> str:
    if status is None:
        return "the host process vanished"
    if status < 0:
        return f"the host process was ended by {signal.Signals(-status).name}"
    return f"the host process left with status {status}"


def interpreter_of(source: str) -> str:
    """Return the Python for a host of `source`: a fetched engine's own, this one for everything else."""
    own = Path(source.partition("?")[0]) / "env" / "bin" / "python"
    return str(own) if source and own.is_file() else sys.executable


def leased_devices() -> str | None:
    """Return the devices that a host would see which is started now; None where nothing hides any."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")


class InlineHost:
    """No process at all: the case runs here, where a debugger can follow."""

    def run(self, job: Job) -> Job:
        """Run `job` to its end; the one place where the parent imports torch."""
        from harness.host.session import serve_request

        serve_request(job.request, job.take)
        job.close(0, "")
        return job


class Host:
    """A host process, its channel and its deadline. `dead` says that it can take no further job.

    `devices` are those that it was started under; a fetched engine's `source` has an interpreter of its own.
    """

    def __init__(self, mode: str, source: str = "") -> None:
        self.mode = mode
        self.job: Job | None = None
        self.deadline = 0.0
        self.dead = False
        self.devices = leased_devices()  # for good: CUDA reads it once
        self._pid = 0
        self._buffer = b""
        self._started = False
        self._log_start = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self.socket, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        root, python = str(Path(__file__).parent), interpreter_of(source)
        command = [python, "-c", _BOOT, root, str(theirs.fileno()), str(lifeline), mode, str(os.getpid())]
        self._process = subprocess.Popen(  # noqa: S603  # our own module, no shell
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env={**(_HUGE_PAGES if mode == "fork" else {}), **os.environ},
            pass_fds=(theirs.fileno(), lifeline), start_new_session=True,
        )  # fmt: skip
        theirs.close()
        os.close(lifeline)

    def begin(self, job: Job) -> None:
        """Send a job's request."""
        self.job = job
        self._pid = 0
        self._log_start = os.fstat(self._log.fileno()).st_size if self._started else 0
        self.deadline = time.monotonic() + job.limit + (0.0 if self._started else _START_LIMIT)
        self._send(dumps(job.request))

    def _send(self, line: str) -> None:
        # A host that is gone shows as end of file on the next read.
        with contextlib.suppress(OSError):
            self.socket.sendall(line.encode() + b"\n")

    def feed(self) -> bool:
        """Read what the host sent; return whether the job is finished."""
        assert self.job is not None
        try:
            data = self.socket.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            return self._lost()
        self._started = True
        self.deadline = time.monotonic() + self.job.limit
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        finished = [self._line(line) for line in lines]
        return any(finished)

    def _line(self, line: bytes) -> bool:
        assert self.job is not None
        reply = decode(Reply, json.loads(line))
        if reply.pid is not None:
            self._pid = reply.pid
        stopped_before = self.job.stopped
        go_on = self.job.take(reply)
        if self.job.request.lockstep:
            if reply.snapshot is not None:
                self._send(dumps({"go": go_on}))
        elif not go_on and not stopped_before:
            self._kill(self._pid)  # it runs ahead; nobody looks at what it does now
        if reply.exit is None:
            return False
        self.dead = self.job.end is not None and self.job.end.stuck
        self.job.close(reply.exit, self._read_log())
        return True

    def _lost(self) -> bool:
        assert self.job is not None
        self.dead = True
        self.job.close(self._wait(), self._read_log())
        return True

    def _wait(self) -> int | None:
        try:
            return self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return None

    def _read_log(self) -> str:
        with open(self._log.fileno(), "rb", closefd=False) as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def stop_hung(self) -> bool:
        """End a job whose operation ran out of time: first its stacks, then its process group."""
        assert self.job is not None
        self.job.broke = Outcome.HANG, f"no answer within {self.job.limit:g} s"
        pid = self._pid or self._process.pid
        _dump_stacks(pid, lambda: len(self._read_log()))
        self._kill(pid)
        if self.mode == "fork" and self._pid:
            self.deadline = time.monotonic() + 10.0  # the zygote now says that the case is gone
            return False
        return self._lost()

    def abandon(self) -> None:
        """Give up a job that is still running; this host is not used again."""
        if self.job is not None:
            self.job, self.dead = None, True

    def close(self) -> None:
        """End the process and whatever it started."""
        self.socket.close()
        os.close(self._lifeline)
        for pid in {self._pid, self._process.pid} - {0}:
            self._kill(pid)
        self._process.wait()
        self._log.close()

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _dump_stacks(pid: int, log_size: Callable[[], int]) -> None:
    """Ask a hung process for its Python stacks and give them a moment to reach the log."""
    before = log_size()
    try:
        os.kill(pid, signal.SIGUSR1)
    except (ProcessLookupError, PermissionError):
        return
    patience = time.monotonic() + 0.5
    while log_size() == before and time.monotonic() < patience:
        time.sleep(0.01)
