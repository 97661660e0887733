"""The results log while another process writes it: what is running, what has a result, what is overdue."""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness.codec import CodecError
from harness.results.records import End, Header, Result, Started, parse_line

__all__ = ["Tail"]

_LONGEST_GRACE = 10.0


class Tail:
    """Follows a log from where it ends now.

    running   tests that began in the session at hand and have no result.
    results   of this session, in order.
    headers   how many sessions began.
    end       how the session ended, None when it did not say.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = path.stat().st_size if path.exists() else 0
        self._rest = b""
        self.results: list[Result] = []
        self.headers = 0
        self._forget()

    def _forget(self) -> None:
        self.running: dict[str, Started] = {}
        self._newest: dict[int, Started] = {}
        self.end: End | None = None
        self._stopped: set[str] = set()

    def begin(self) -> None:
        """Another process begins: what it tells is all that counts."""
        self.read()
        self.results = []
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
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in filter(None, lines):
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            record = parse_line(line)
        except CodecError:  # half a line of a process that died: the reader of the whole log judges it
            return
        if isinstance(record, Header):
            self.headers += 1
        elif isinstance(record, Started):
            self.running[record.id] = self._newest[record.pid] = record
        elif isinstance(record, Result):
            self.running.pop(record.id, None)
            self.results.append(record)
        elif isinstance(record, End):
            self.end = record

    def still_runs(self, started: Started) -> bool:
        """Whether a test has no result, and its process has not begun another one."""
        return self.running.get(started.id) is started and self._newest.get(started.pid) is started

    def overdue(self) -> list[Started]:
        """Return each test that is beyond its limit and the grace that its own timeout has to end it, once."""
        now = time.time()
        late = [
            started
            for started in self.running.values()
            if started.limit and now > started.at + started.limit + min(started.limit, _LONGEST_GRACE)
        ]
        late = [started for started in late if started.id not in self._stopped]
        self._stopped.update(started.id for started in late)
        return late
