"""The reason of a waiver: `https://nvbugs/6535874; owner=spec-dec; until=2026-12-31`.

Structured fields stay inside the parentheses, so that upstream still reads the line.
"""

from __future__ import annotations

import re
from datetime import date

from harness.lists.model import Problem, Reason, Token

__all__ = ["bug_number", "format_reason", "parse_reason"]

_FIELD = re.compile(r"([A-Za-z_]+)\s*=\s*(.*)", re.DOTALL)
_URL = re.compile(r"(?:https?://|nvbugs/)\S+")
_NVBUG = re.compile(r"(?:^|[/.])nvbugs(?:pro\.nvidia\.com)?/(?:bug/)?(\d+)/?$")
_FIELDS = ("bug", "owner", "until")


def bug_number(url: str) -> str | None:
    """`6535874` from any spelling of an nvbugs URL; None for other text, other trackers included."""
    found = _NVBUG.search(url)
    return found[1] if found else None


def parse_reason(value: Token | None) -> tuple[Reason, list[Problem]]:
    """Read the text in a marker's parentheses. A field that cannot be read is a problem, kept in the note."""
    if value is None:
        return Reason(), []
    fields: dict[str, str] = {}
    notes: list[str] = []
    problems: list[Problem] = []
    until: date | None = None
    offset = 0
    for piece in value.text.split(";"):
        part = piece.strip()
        place = value.place._replace(column=value.place.column + offset + len(piece) - len(piece.lstrip()))
        offset += len(piece) + 1
        found = _FIELD.fullmatch(part)
        if _URL.fullmatch(part):
            name, text = "bug", part
        elif found and (found[1] in _FIELDS or _misspelt(found[1])):
            name, text = found[1], found[2]
        else:
            notes.append(part)
            continue
        problem = _field_problem(Token(part, place), name, text, fields)
        if problem:
            problems.append(problem)
            notes.append(part)
            continue
        fields[name] = text
        if name == "until":
            until = date.fromisoformat(text)
    note = "; ".join(note for note in notes if note)
    return Reason(value.text, fields.get("bug", ""), fields.get("owner", ""), until, note), problems


def _field_problem(token: Token, name: str, text: str, fields: dict[str, str]) -> Problem | None:
    if name not in _FIELDS:
        return Problem(
            "unknown-field", token.place, f"unknown field '{name}'", f"did you mean '{_misspelt(name)}'?"
        )
    if name in fields:
        return Problem("field-twice", token.place, f"'{token.text}' is a second {name}", "keep one")
    if not text:
        return Problem("empty-field", token.place, f"'{name}' has no value", f"write {name}=... or remove it")
    if name == "until" and not _is_date(text):
        return Problem("bad-date", token.place, f"'{text}' is no date", "expected until=YYYY-MM-DD")
    return None


def _is_date(text: str) -> bool:
    # Python 3.11 reads more forms than 3.10; a waiver has one.
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _misspelt(name: str) -> str:
    if name.lower() in _FIELDS:
        return name.lower()
    from difflib import get_close_matches  # paid for only when something is wrong

    return next(iter(get_close_matches(name.lower(), _FIELDS, n=1, cutoff=0.75)), "")


def format_reason(reason: Reason) -> str:
    """The text of a reason made of fields, in the one order this package writes: bug, note, owner, until."""
    parts = [reason.bug, reason.note]
    if reason.owner:
        parts.append(f"owner={reason.owner}")
    if reason.until:
        parts.append(f"until={reason.until.isoformat()}")
    return "; ".join(part for part in parts if part)
