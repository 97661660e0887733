"""The append-only results log: one `os.write` a line, so that a kill costs the line being written at most.

A writer that dies may leave half a line, and whoever writes next starts a new one. Workers of xdist write the plan
and `started` themselves, since only they know them; every other line has one writer. So half a line is the last
one, or right before a header, or the beginning of a line that workers write; anything else that cannot be read is
an error.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.codec import CodecError
from harness.errors import Place, UsageError
from harness.results.records import FORMAT, End, Header, Plan, Record, Result, Started, Word, parse_line, to_line

__all__ = ["Appender", "Log", "LogWriter", "Session", "read_log"]

_PATIENCE = 10.0  # seconds that a writer waits for one that is dying


@dataclass
class Session:
    """One pytest process (with its workers) that wrote into the log, and what it told.

    `running` has what was started and did not end, in the order of starting.
    """

    header: Header
    results: list[Result] = field(default_factory=list)
    running: dict[str, Started] = field(default_factory=dict)
    plan: Plan | None = None
    end: End | None = None


@dataclass
class Log:
    """All of a log. There is at least one session."""

    path: str
    sessions: list[Session]

    @property
    def header(self) -> Header:
        """The first session's header."""
        return self.sessions[0].header

    @property
    def results(self) -> dict[str, Result]:
        """Every test's final result: the last line that the log has for it."""
        return {result.id: result for session in self.sessions for result in session.results}

    def seen_from(self, session: int) -> dict[str, Result]:
        """Every test's final result; those of sessions before this one are marked as reused."""
        before = len(self.sessions[: session - 1])
        return {
            result.id: result if number > before else replace(result, reused=result.reused or f"session {number}")
            for number, one in enumerate(self.sessions, 1)
            for result in one.results
        }

    @property
    def plan(self) -> Plan | None:
        """What was to run, as the first session that came so far has it."""
        return next((session.plan for session in self.sessions if session.plan), None)

    @property
    def deselected(self) -> int:
        """How many tests were deselected, as the last session that ended has it."""
        ends = [session.end for session in self.sessions if session.end]
        return ends[-1].counts.get(Word.DESELECTED.value, 0) if ends else 0

    @property
    def ended(self) -> bool:
        """Whether the last session came to its own end."""
        return self.sessions[-1].end is not None

    @property
    def at_end(self) -> float:
        """When the last thing happened that the log knows."""
        last = self.sessions[-1]
        return last.end.at if last.end else max([last.header.at, *(result.at for result in last.results)])

    def deaths(self) -> Counter[str]:
        """In how many sessions that did not end each test was running and has no result still."""
        final = self.results
        return Counter(
            name
            for session in self.sessions
            if session.end is None
            for name in session.running
            if name not in final
        )


def read_log(path: Path) -> Log | None:
    """Read a log; None when there is nothing in it yet.

    Raises `UsageError` with file and line for anything unreadable but half a line that a dead writer left, and
    for a format of another version.
    """
    try:
        return _parse(str(path), path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", Place(str(path))) from None


def _parse(file: str, content: bytes) -> Log | None:
    reader = _Reader(file)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line:
            reader.take(number, line)
    return Log(file, reader.sessions) if reader.sessions else None


_BEGINNING = b'{"kind":"'
# How every line begins that workers write.
_OF_WORKERS = tuple(to_line(record).partition(b",")[0] for record in (Started("", 0.0), Plan((), 0, "")))


def _is_torn(line: bytes) -> bool:
    """Whether it may be the first part of one of our lines, which never is JSON by itself."""
    try:
        json.loads(line)
    except ValueError:
        return line.startswith(_BEGINNING) or _BEGINNING.startswith(line)
    return False


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.sessions: list[Session] = []
        self.torn: UsageError | None = None  # an error unless a header follows, or nothing

    def take(self, number: int, line: bytes) -> None:
        place = Place(self.file, number)
        try:
            record = parse_line(line)
        except CodecError as error:
            broken = UsageError(f"is no line of a results log ({error}); restore the file", place)
            if not _is_torn(line):
                raise broken from None
            if self.torn is None and not line.startswith(_OF_WORKERS):
                self.torn = broken
            return
        if isinstance(record, Header):
            if record.format != FORMAT:
                raise UsageError(f"format {record.format}; this version reads {FORMAT}", place)
            self.sessions.append(Session(record))
            self.torn = None
            return
        self.refuse_torn()
        if not self.sessions:
            raise UsageError("stands before any header; give a whole results log", place)
        self.keep(self.sessions[-1], record)

    def refuse_torn(self) -> None:
        if self.torn is not None:
            raise self.torn

    def keep(self, session: Session, record: Record) -> None:
        if isinstance(record, Started):
            session.running[record.id] = record
        elif isinstance(record, Result):
            session.running.pop(record.id, None)
            session.results.append(record)
        elif isinstance(record, Plan):
            session.plan = record
        elif isinstance(record, End):
            session.end = record


class Appender:
    """Appends lines to a log that another process has begun: what a worker of xdist holds.

    `shared` says whether other processes write meanwhile, which may die within a line.
    """

    def __init__(self, path: Path) -> None:
        """Open for appending, making the file where there is none. Raises `UsageError` where that cannot be."""
        self._place = Place(str(path))
        self.shared = True
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._refused(error) from None

    def write(self, record: Record) -> None:
        """Append one line: when this returns, a kill of this process does not lose it.

        Raises `UsageError` when the line cannot be written whole; none of it is then in the file.
        """
        line = to_line(record)
        try:
            if self.shared and self._ends_within_a_line():
                line = b"\n" + line
            written = os.write(self._descriptor, line)
            if written < len(line):
                self._take_back(written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._refused(error) from None

    def _ends_within_a_line(self) -> bool:
        """Half a line of a process that died. Seen by mistake while another one writes, it costs an empty line."""
        size = os.lseek(self._descriptor, 0, os.SEEK_END)
        return size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"

    def _take_back(self, written: int) -> None:
        """Cut off the part of a line that was written, unless another process has written behind it."""
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)  # appending has moved it behind what was written
        if os.lseek(self._descriptor, 0, os.SEEK_END) == end:
            os.ftruncate(self._descriptor, end - written)

    def close(self) -> None:
        """Close. Does nothing the second time."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _refused(self, error: OSError) -> UsageError:
        return UsageError(f"cannot be written: {error.strerror}; name another file", self._place)


class LogWriter(Appender):
    """The one process that writes results: it locks the file, reads what is there, then begins a session.

    The lock is the process's own (`lockf`), so no child that outlives it can keep it. Closing another descriptor
    of the file in the same process gives it up, as POSIX has it: hence `read`.
    """

    def __init__(self, path: Path) -> None:
        """Open and lock. A process that has just been killed may hold the lock for moments more.

        Raises `UsageError` when the file cannot be written, or another process goes on writing it.
        """
        super().__init__(path)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > deadline:
                    self.close()
                    message = "another process is writing it; wait for its end, or name another file"
                    raise UsageError(message, self._place) from None
            time.sleep(0.02)

    def read(self) -> Log | None:
        """Read what is there, as `read_log` does."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            return _parse(str(self._place), file.read())

    def end(self, exit_status: int, counts: dict[str, int]) -> None:
        """Write the last line of the session and close."""
        self.write(End(time.time(), exit_status, counts))
        self.close()
