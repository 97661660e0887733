"""Errors a person can cause. Each is one line (place, cause, remedy) and has a documented exit code.

They do not mean that a worker under test misbehaved: that is an `Outcome` in a trace, never an exception.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["ExitCode", "HarnessError", "LaunchError", "Place", "UsageError"]


class ExitCode(IntEnum):
    """Exit codes of `repro`, `replay` and `explore`; `check` commands use the first three."""

    HOLDS = 0
    VIOLATION = 1
    USAGE = 2
    UNSUPPORTED = 3
    INTERNAL = 4


class Place(NamedTuple):
    """Where in a file a person should look. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


class HarnessError(Exception):
    """The harness itself failed; `exit_code` says how the process ends."""

    exit_code: ExitCode = ExitCode.INTERNAL


class UsageError(HarnessError):
    """A file, option or name that a person gave cannot be used. The text says what was expected."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place


class LaunchError(HarnessError):
    """A target cannot be launched here, or cannot do what a scenario asks. No verdict was reached.

    `log` is what the host left behind, a traceback or its output, for who asks for more than one line.
    """

    exit_code = ExitCode.UNSUPPORTED

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log
