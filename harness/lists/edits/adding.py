"""A new waiver, and its place in a file."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from harness.errors import Place, UsageError
from harness.lists.edits.bugs import bug_url
from harness.lists.edits.document import Document, Item
from harness.lists.edits.layout import insert, place_key
from harness.lists.lines import format_line, parse_waiver
from harness.lists.matching import WaiverIndex
from harness.lists.model import MarkerName, Reason, Waiver
from harness.lists.reason import bug_number, format_reason
from harness.lists.upstream import read_upstream

__all__ = ["Clash", "add", "clash", "new_waiver", "wider"]


class Clash(NamedTuple):
    """A line that waives the same test in the same place; `same`: for the same outcome and reason."""

    waiver: Waiver
    same: bool


def new_waiver(
    test: str,
    bug: str,
    *,
    prefix: str = "",
    marker: MarkerName = "SKIP",
    owner: str = "",
    until: date | None = None,
    note: str = "",
) -> Waiver:
    """The waiver that these values make. `test` may have arguments, and a prefix as `full:<head>/...`.

    Raises UsageError when no line can say it, or when upstream would not read that line.
    """
    text = test.strip()
    if prefix and text.startswith("full:"):
        raise UsageError(f"'{text}' has a prefix already; drop 'full:' there, or --prefix")
    fields = Reason(bug=bug_url(bug), owner=owner.strip(), until=until, note=note.strip())
    name = f"full:{prefix}/{text}" if prefix else text
    line = f"{name} {marker} ({format_reason(fields)})"
    waiver, problems = parse_waiver(line, Place("the new line", 0, 1))
    if waiver is None or problems:
        what = f"{problems[0].message}; {problems[0].suggestion}" if problems else "it names no test"
        raise UsageError(f"'{line}' would be broken: {what}")
    said = Reason(waiver.reason.text, fields.bug, fields.owner, until, fields.note)
    if waiver.reason != said or format_line(waiver) != line or waiver.head != (prefix or waiver.head):
        raise UsageError(f"'{line}' would not say this; leave ';', '#' and single ')' out of test and reason")
    reading = read_upstream(line)
    if reading is None or reading.error or reading.marker != marker:
        raise UsageError(f"upstream could not read '{line}'; leave '#' out of test and reason")
    return waiver


def clash(document: Document, waiver: Waiver) -> Clash | None:
    """The line that already waives this test in this place, one that says the same first."""
    key = place_key(Item("waiver", (), waiver=waiver))
    found = [w for item in document.items if (w := item.waiver) and place_key(item) == key]
    clashes = [Clash(other, _outcome(other) == _outcome(waiver)) for other in found]
    return max(clashes, key=lambda c: c.same, default=None)


def _outcome(waiver: Waiver) -> tuple[object, ...]:
    reason = waiver.reason
    bug = bug_number(reason.bug) or reason.bug.rstrip("/")
    return {m.name for m in waiver.markers}, bug, reason.owner, reason.until, reason.note


def wider(document: Document, waiver: Waiver) -> Waiver | None:
    """A line of the file that waives the new waiver's test anyway, in the stages that it reaches."""
    if waiver.has_arguments or len(waiver.targets) > 1:
        return None
    found = WaiverIndex(document.waivers, waiver.head).find(waiver.test.text)
    return found.waiver if found else None


def add(document: Document, waiver: Waiver) -> Document:
    """The file with one more waiver, in its form and at its sorted place (see `layout.insert`)."""
    if document.form == "yaml":
        from harness.lists.edits.yaml_write import yaml_lines

        lines = yaml_lines(waiver, document.column)
    else:
        lines = (format_line(waiver).encode("utf-8", "surrogateescape") + b"\n",)
    return insert(document, Item("waiver", lines, waiver=waiver))
