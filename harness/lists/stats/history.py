"""What git knows of one file: who wrote each line and when, and what the file was in the past.

Git is called with fixed verbs and argument lists, reads only, and is asked a bounded number of times: once for the
lines, once for the list of commits, once for all old versions together.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

__all__ = ["Origin", "Version", "read_origins", "read_versions"]

_COMMITS = 5000  # looked at for a trend, the newest first
_POINTS = 60  # read of them: more than a chart shows
_HEADER = re.compile(rb"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a line comes from. `day` is the author's, in UTC; None for a line that is not committed yet."""

    day: date | None
    author: str
    commit: str


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it was after a commit; `data` is empty where the commit removed it."""

    day: date
    commit: str
    data: bytes


def read_origins(path: Path) -> dict[int, Origin]:
    """Return line number -> its origin; nothing where there is no git, no repository, or no such file in it."""
    blamed = _git(path, "blame", "--porcelain", "--", path.name)
    origins: dict[int, Origin] = {}
    commits: dict[str, dict[str, str]] = {}
    commit, number = "", 0
    for line in blamed.split(b"\n"):
        if line.startswith(b"\t"):
            origins[number] = _origin(commit, commits[commit])
        elif found := _HEADER.fullmatch(line):
            commit, number = found[1].decode(), int(found[2])
            commits.setdefault(commit, {})
        elif commit:
            name, _, value = line.decode("utf-8", "replace").partition(" ")
            commits[commit].setdefault(name, value)
    return origins


def _origin(commit: str, facts: dict[str, str]) -> Origin:
    if not commit.strip("0"):
        return Origin(None, "", "")
    return Origin(_day(facts["author-time"]), facts.get("author", ""), commit[:12])


def _day(seconds: str) -> date:
    return datetime.fromtimestamp(int(seconds), timezone.utc).date()


def read_versions(path: Path) -> list[Version]:
    """Return the file after some of the commits that changed it, oldest first: at most sixty, evenly chosen.

    Renames are followed. The list is empty where there is no history.
    """
    listed = _git(
        path, "log", "--follow", f"--max-count={_COMMITS}", "--no-ext-diff", "--no-textconv", "--name-only", "-z",
        "--format=%x01%H %ct%x02", "--", path.name,
    )  # fmt: skip
    commits = []
    for piece in listed.split(b"\1")[1:]:
        head, _, names = piece.partition(b"\2")
        commit, _, seconds = head.decode().partition(" ")
        names = names.strip(b"\0\n")
        if names and b"\n" not in names:
            commits.append((commit, _day(seconds), names))
    return list(_read(path, _evenly(commits[::-1])))


def _evenly(commits: Sequence[tuple[str, date, bytes]]) -> list[tuple[str, date, bytes]]:
    """Return the first, the last, and as many between them as a chart has points."""
    if len(commits) <= _POINTS:
        return list(commits)
    step = (len(commits) - 1) / (_POINTS - 1)
    return [commits[round(index * step)] for index in range(_POINTS)]


def _read(path: Path, commits: Sequence[tuple[str, date, bytes]]) -> Iterator[Version]:
    """Read all versions with one process."""
    wanted = b"".join(commit.encode() + b":" + name + b"\n" for commit, _, name in commits)
    answer = _git(path, "cat-file", "--batch", given=wanted) if commits else b""
    place = 0
    for commit, day, _ in commits:
        end = answer.find(b"\n", place)
        if end < 0:
            return
        kind = answer[place:end].rsplit(b" ", 2)
        place = end + 1
        data = b""
        if len(kind) == 3 and kind[1] == b"blob":
            size = int(kind[2])
            data, place = answer[place : place + size], place + size + 1
        yield Version(day, commit[:12], data)


def _git(path: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Return what git prints in the file's folder, nothing where it fails."""
    command = [
        "git",
        "-C",
        str(path.parent),
        "-c",
        "core.quotePath=false",
        "-c",
        "core.fsmonitor=false",
        *arguments,
    ]
    # A hook or a CI job may have set variables that point at another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, input=given, capture_output=True, env=environment, check=False)  # noqa: S603  # fixed verbs, no shell
    except OSError:
        return b""
    return done.stdout if done.returncode == 0 else b""
