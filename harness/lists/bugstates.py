"""What a bug tracker says of bugs, from an export: number, state, closed on. CSV or JSON, never a request."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from harness.errors import Place, UsageError
from harness.lists.reason import bug_number
from harness.lists.source import read_source, readable

__all__ = ["BugState", "BugStates", "read_bug_states"]

# Spellings of the columns, without regard to case, blanks, `_` and `-`.
_NUMBER = ("number", "bug", "bugid", "id", "key", "url")
_STATE = ("state", "status")
_CLOSED_ON = ("closedon", "closed", "closedat", "closeddate", "dateclosed")
_CLOSED = ("closed", "done", "duplicate", "fixed", "resolved", "verified", "wontfix")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ].*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class BugState:
    """One bug of the export. `closed_on` is None when the export does not say."""

    number: str
    state: str
    closed_on: date | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the state's first word is one for a finished bug, such as `Closed - Fixed`."""
        first = re.match(r"\w*", self.state)
        return first is not None and first[0].lower() in _CLOSED


class BugStates:
    """Look-up of bugs by the URL or number that a waiver gives."""

    def __init__(self, states: Iterable[BugState]) -> None:
        self._by_key = {_key(state.number): state for state in states}

    def __len__(self) -> int:
        return len(self._by_key)

    def find(self, bug: str) -> BugState | None:
        """The state of a bug, None when the export does not have it."""
        return self._by_key.get(_key(bug))


def read_bug_states(path: str | os.PathLike[str]) -> BugStates:
    """Read an export. Raises UsageError, with the place, when it is unreadable or has no number and state.

    CSV: a header line that names `number`, `state` and, if known, `closed on`. JSON: a list of objects with
    these keys, or an object `number -> state` or `number -> object`. Other columns and keys are ignored.
    """
    source = read_source(path)
    text = source.data.decode("utf-8-sig", "replace")
    json_form = text.lstrip()[:1] in ("[", "{")
    return BugStates(_from_json(text, source.file) if json_form else _from_csv(text, source.file))


def _key(bug: str) -> str:
    return bug_number(bug) or bug.strip().rstrip("/")


def _from_csv(text: str, file: str) -> Iterator[BugState]:
    import csv

    lines = text.replace("\0", "\ufffd").splitlines()
    delimiter = max(",;\t", key=(lines[0] if lines else "").count)
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        header = next(reader, [])
        number, state = (_column(header, names, file) for names in (_NUMBER, _STATE))
        closed_on = next((i for i, name in enumerate(header) if _squeezed(name) in _CLOSED_ON), None)
        for row in reader:
            if len(row) > max(number, state):
                when = row[closed_on] if closed_on is not None and closed_on < len(row) else ""
                yield _state(row[number], row[state], when, Place(file, reader.line_num))
    except csv.Error as error:
        raise UsageError(f"is no CSV: {error}; export it again", Place(file, reader.line_num)) from error


def _column(header: list[str], names: tuple[str, ...], file: str) -> int:
    for index, name in enumerate(header):
        if _squeezed(name) in names:
            return index
    expected = "expected a first line such as 'number,state,closed on'"
    raise UsageError(f"no column '{names[0]}'; {expected}", Place(file, 1))


def _squeezed(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _from_json(text: str, file: str) -> Iterator[BugState]:
    import json

    expected = 'expected [{"number": 1, "state": "closed", "closed_on": "2026-01-31"}, ...]'
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no JSON: {error}; {expected}", Place(file)) from error
    for item in _objects(given):
        fields = {_squeezed(str(key)): value for key, value in item.items()}
        found = [next((fields[n] for n in names if n in fields), None) for names in (_NUMBER, _STATE)]
        if found[0] is None or found[1] is None:
            raise UsageError(f"an item without number or state; {expected}", Place(file))
        when = next((fields[n] for n in _CLOSED_ON if fields.get(n)), "")
        yield _state(str(found[0]), str(found[1]), str(when), Place(file))


def _objects(given: object) -> Iterator[Mapping[str, object]]:
    """The bugs of any of the JSON forms, each with `number` and the rest."""
    if isinstance(given, list):
        yield from (item if isinstance(item, dict) else {} for item in given)
    elif isinstance(given, dict):
        for number, value in given.items():
            yield {"number": number, **(value if isinstance(value, dict) else {"state": value})}


def _state(number: str, state: str, when: str, place: Place) -> BugState:
    found = _DATE.fullmatch(when.strip())
    try:
        closed_on = date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError as error:
        raise UsageError(f"'{readable(when)}' is no date; expected YYYY-MM-DD", place) from error
    return BugState(readable(number.strip()), readable(state.strip()), closed_on)
