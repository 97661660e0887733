"""A baseline: the findings that an old list already had, so that only new ones count.

A finding is known again by file, code and subject, never by a line number, so that lines may move. What was
found twice is known twice.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from harness.errors import Place, UsageError
from harness.lists.checks.finding import Finding
from harness.lists.source import read_source

__all__ = ["Compared", "compare", "read_baseline", "render_baseline"]

_VERSION = 1
_EXPECTED = "write it with --write-baseline"

_Key: TypeAlias = tuple[str, str, str]


class Compared(NamedTuple):
    """`new` are not in the baseline; `gone` counts the findings of the baseline that are no more."""

    new: list[Finding]
    known: int
    gone: int


def render_baseline(findings: Iterable[Finding], path: str) -> bytes:
    """The text of a baseline file that is to stand at `path`; notes, which never fail, are left out."""
    counted = Counter(_key(finding, path) for finding in findings if finding.severity != "note")
    rows = [
        {"file": file, "code": code, "subject": subject, "count": count}
        for (file, code, subject), count in sorted(counted.items())
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)  # one finding a line, for a readable diff
    text = f'{{"version": {_VERSION}, "findings": [\n{lines}\n]}}\n'
    return text.encode()


def read_baseline(path: str) -> Counter[_Key]:
    """Read a baseline. Raises UsageError when it is none."""
    source = read_source(path)
    try:
        given = json.loads(source.data)
        if given["version"] != _VERSION:
            raise UsageError(f"is of version {given['version']!r}; {_EXPECTED}", Place(path))
        counted: Counter[_Key] = Counter()
        for row in given["findings"]:
            counted[str(row["file"]), str(row["code"]), str(row["subject"])] += int(row["count"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise UsageError(f"is no baseline; {_EXPECTED}", Place(path)) from error
    return counted


def compare(findings: Iterable[Finding], baseline: Counter[_Key], path: str) -> Compared:
    """Tell the new findings from the known ones. Notes are passed on as new."""
    left = baseline.copy()
    new: list[Finding] = []
    known = 0
    for finding in findings:
        key = _key(finding, path)
        if finding.severity != "note" and left[key] > 0:
            left[key] -= 1
            known += 1
        else:
            new.append(finding)
    return Compared(new, known, sum(left.values()))


def _key(finding: Finding, path: str) -> _Key:
    """The key; the file as seen from the baseline's folder, wherever the check was started."""
    folder = Path(path).absolute().parent
    file = Path(os.path.relpath(Path(finding.place.file).absolute(), folder)).as_posix()
    return file, finding.code, finding.subject
