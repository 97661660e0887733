"""The results log while another process writes it: what is running, what has a result, what is overdue."""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness.codec import CodecError
from harness.results.records import Header, Result, Started, parse_line

__all__ = ["Tail"]

_LONGEST_GRACE = 10.0
_STALL = 60.0


class Tail:
    """Follows a log from where it ends now: the session at hand. Lines are taken apart when they are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = path.stat().st_size if path.exists() else 0
        self._new = bytearray()
        self._forget()

    def _forget(self) -> None:
        self._headers = 0
        self._results: list[Result] = []
        self._running: dict[str, Started] = {}
        self._newest: dict[int, Started] = {}
        self._is_limited = False
        self._grew = time.monotonic()
        self._stopped: set[str] = set()

    def begin(self) -> None:
        """Another process begins: what it tells is all that counts."""
        self.read()
        self._new.clear()
        self._forget()

    def read(self) -> None:
        """Take in what was written since the last time."""
        if not self.path.exists():
            return
        with self.path.open("rb") as log:
            if os.fstat(log.fileno()).st_size == self._at:
                return
            log.seek(self._at)
            data = log.read()
        self._at += len(data)
        self._grew = time.monotonic()
        self._new += data
        # Most runs set no limit and come to their own end: nothing then asks for what is read.
        self._is_limited = self._is_limited or b'"limit"' in data
        if self._is_limited:
            self._digest()

    def _digest(self) -> None:
        *lines, rest = self._new.split(b"\n")
        self._new = bytearray(rest)
        for line in filter(None, lines):
            self._take(bytes(line))

    def _take(self, line: bytes) -> None:
        try:
            record = parse_line(line)
        except CodecError:  # half a line of a process that died: the reader of the whole log judges it
            return
        if isinstance(record, Header):
            self._headers += 1
        elif isinstance(record, Started):
            self._running[record.id] = self._newest[record.pid] = record
        elif isinstance(record, Result):
            self._running.pop(record.id, None)
            self._results.append(record)

    @property
    def headers(self) -> int:
        """How many sessions began."""
        self._digest()
        return self._headers

    @property
    def results(self) -> list[Result]:
        """What has a result, in order."""
        self._digest()
        return self._results

    @property
    def running(self) -> dict[str, Started]:
        """Tests that began and have no result."""
        self._digest()
        return self._running

    @property
    def stalls(self) -> bool:
        """Whether tests ran in workers, and for a long time none has begun or ended."""
        if time.monotonic() < self._grew + _STALL:
            return False
        self._digest()
        return any(one.worker for one in self._newest.values())

    def still_runs(self, started: Started) -> bool:
        """Whether a test has no result, and its process has not begun another one."""
        return self.running.get(started.id) is started and self._newest.get(started.pid) is started

    def overdue(self) -> list[Started]:
        """Return each test that is beyond its limit and the grace that its own timeout has to end it, once.

        A line that was cut in two between looks is looked at the next time.
        """
        now = time.time()
        late = [
            started
            for started in self._running.values()
            if started.limit and now > started.at + started.limit + min(started.limit, _LONGEST_GRACE)
        ]
        late = [started for started in late if started.id not in self._stopped]
        self._stopped.update(started.id for started in late)
        return late
