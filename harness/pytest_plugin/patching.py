"""The patch that takes waivers out which are no longer needed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.lists import Level, Waiver

__all__ = ["fixed_waivers", "note_fixed", "removal_patch"]

_ATTRIBUTE = "harness_fixed"


def note_fixed(report: pytest.TestReport, waiver: Waiver, level: Level, root: Path) -> None:
    """Make the failure of an XFAIL that passed say what to do: the patch that removes its line."""
    file, line = waiver.place.file, waiver.place.line
    setattr(report, _ATTRIBUTE, json.dumps([file, line]))
    wide = "" if level is Level.ID else f" (as {level}: look at its other tests first)"
    remedy = f"it passes: remove the waiver at {file}:{line}{wide}"
    report.longrepr = f"{report.longrepr}; {remedy}\n\n{removal_patch(file, [line], root)}"


def removal_patch(file: str, lines: Iterable[int], root: Path) -> str:
    """Return a unified diff without the waivers on these lines, for `git apply` or `patch -p1` in `root`."""
    from harness.lists.edits import read_document, remove
    from harness.lists.edits.patch import unified_diff

    gone = set(lines)
    try:
        document = read_document(file)
        found = {i for i, item in enumerate(document.items) if item.waiver and item.waiver.place.line in gone}
        after = remove(document, found).reread()
    except HarnessError as error:
        return f"{error}\n"
    name = Path(os.path.relpath(file, root)).as_posix()
    diff = unified_diff(name if not name.startswith("..") else file, document.source.data, after.data)
    return diff.decode("utf-8", "replace")


def fixed_waivers(reports: Iterable[object]) -> Iterator[tuple[str, set[int]]]:
    """Return, by file, the lines of all waivers whose tests passed."""
    found: dict[str, set[int]] = {}
    for report in reports:
        text = getattr(report, _ATTRIBUTE, None)
        if text is not None:
            file, line = json.loads(text)
            found.setdefault(file, set()).add(line)
    yield from sorted(found.items())
