"""Which items of a file a person means who removes tests or bugs."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import Place, UsageError
from harness.lists.edits.bugs import has_bug
from harness.lists.edits.document import Document
from harness.lists.edits.layout import place_key

__all__ = ["lines_of"]


def lines_of(
    document: Document, tests: Iterable[str] = (), bugs: Iterable[str] = (), prefix: str | None = None
) -> set[int]:
    """The indices of the items that waive exactly these tests, or that are for these bugs.

    `prefix` None means lines of every prefix, "" those without one; `full:<head>/` in front of a test means
    that head. Raises UsageError for the first test or bug without a line.
    """
    waivers = [(i, *place_key(item), item.waiver) for i, item in enumerate(document.items) if item.waiver]
    if prefix is not None:
        waivers = [entry for entry in waivers if entry[1] == prefix]
    found: set[int] = set()
    for test in tests:
        head, name = _split(test)
        lines = {i for i, other, text, _ in waivers if text == name and head in (None, other)}
        if not lines:
            raise UsageError(_unknown(document, test, prefix), Place(document.source.file))
        found |= lines
    for bug in bugs:
        lines = {i for i, _, _, waiver in waivers if has_bug(waiver, bug)}
        if not lines:
            raise UsageError(f"no waiver{_where(prefix)} is for bug {bug}", Place(document.source.file))
        found |= lines
    return found


def _split(test: str) -> tuple[str | None, str]:
    name = " ".join(test.split())
    if not name.startswith("full:"):
        return None, name
    head, _, name = name.removeprefix("full:").partition("/")
    return head, name


def _where(prefix: str | None) -> str:
    return "" if prefix is None else f" with prefix '{prefix}'"


def _unknown(document: Document, test: str, prefix: str | None) -> str:
    from harness.lists.selecting import nearest  # difflib is paid for only when something is wrong

    names = tuple(dict.fromkeys(waiver.test.text for waiver in document.waivers))
    close = nearest(_split(test)[1], names)
    hint = f"did you mean {' or '.join(close)}?" if close else "give the whole name, with its parameters"
    return f"no waiver{_where(prefix)} is for {test}; {hint}"
