"""From a list file to the tests that run: reading, conditions, names, `-k` and `-m`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lists import (
    Entry,
    Problem,
    Selected,
    Selection,
    detect_facts,
    match_entries,
    parse_facts,
    read_test_db,
    read_test_list,
    select,
)
from harness.lists.expression import ExpressionError, evaluate

__all__ = ["Chosen", "choose", "read_entries"]


@dataclass(frozen=True)
class Chosen:
    """A test and the list entries through which it runs."""

    item: pytest.Item
    entries: tuple[Entry, ...]


def read_entries(file: str, context: str | None, match: str | None) -> tuple[Entry, ...]:
    """Return the entries that hold for a context and facts. Raises `UsageError` for anything unreadable.

    A flat list has no conditions: all its entries hold.
    """
    path = Path(file)
    if path.suffix not in (".yml", ".yaml"):
        listed = read_test_list(path)
        _refuse_errors(listed.problems)
        return listed.entries
    db = read_test_db(path)
    _refuse_errors(db.problems)
    facts = detect_facts() if match is None else parse_facts(match)
    selection = select(db, context or path.stem, facts)
    if not selection.entries:
        raise UsageError(_why_empty(file, selection))
    return selection.entries


def _refuse_errors(problems: Sequence[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more: `harness lists check`)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0]}{more}")


def _why_empty(file: str, selection: Selection) -> str:
    reasons = [
        f"the block at line {verdict.block.place.line} fails because {verdict.mismatches[0]}"
        if verdict.mismatches
        else f"the block at line {verdict.block.place.line} holds and is empty"
        for verdict in selection.verdicts
    ]
    return f"{file}: context {selection.context} selects no test: {'; '.join(reasons) or 'it has no blocks'}"


def choose(
    items: Sequence[pytest.Item], entries: Sequence[Entry], allow_unknown: bool
) -> tuple[list[Chosen], list[pytest.Item]]:
    """Return (the chosen tests in the list's order, the others). A test that two entries name runs once.

    Raises `UsageError` for entries that name no collected test, unless they are allowed.
    """
    by_id = {item.nodeid: item for item in items}
    matched = match_entries(entries, by_id)
    if not allow_unknown:
        _refuse_unknown(matched, list(by_id))
    chosen: dict[str, list[Entry]] = {}
    for selected in matched:
        for nodeid in selected.ids:
            if _holds(by_id[nodeid], selected.entry):
                chosen.setdefault(nodeid, []).append(selected.entry)
    rest = [item for nodeid, item in by_id.items() if nodeid not in chosen]
    return [Chosen(by_id[nodeid], tuple(through)) for nodeid, through in chosen.items()], rest


def _refuse_unknown(matched: Sequence[Selected], ids: list[str]) -> None:
    unknown = [selected.entry for selected in matched if not selected.ids]
    if not unknown:
        return
    from rapidfuzz import process  # only a mistake pays for it

    entry = unknown[0]
    test = entry.test.text
    file = test.partition("::")[0]
    candidates = [nodeid for nodeid in ids if nodeid.startswith(f"{file}::")] or ids
    close = [nodeid for nodeid, _, _ in process.extract(test, candidates, limit=3)]
    more = f" ({len(unknown)} entries in all)" if len(unknown) > 1 else ""
    hint = f"nearest: {', '.join(close)}" if close else "no test was collected"
    raise UsageError(f"no collected test is named {test!r}{more}; {hint}; --allow-unknown ignores it", entry.place)


def _holds(item: pytest.Item, entry: Entry) -> bool:
    keyword, markexpr = entry.keyword, entry.markexpr
    try:
        return (not keyword or evaluate(keyword.text, _keyword_of(item))) and (
            not markexpr or evaluate(markexpr.text, _mark_of(item))
        )
    except ExpressionError as error:
        raise UsageError(f"{entry.test.text!r}: {error}", entry.place) from None


class _keyword_of:  # noqa: N801  # a function with one thing remembered
    """Whether a name is part of the test's own, its parents' or its marks' names, in any case."""

    def __init__(self, item: pytest.Item) -> None:
        names = {node.name for node in item.listchain()} | item.listextrakeywords()
        names |= {mark.name for mark in item.iter_markers()}
        self._names = [name.lower() for name in names]

    def __call__(self, name: str) -> bool:
        return any(name.lower() in known for known in self._names)


class _mark_of:  # noqa: N801  # a function with one thing remembered
    """Whether the test has a mark of exactly this name."""

    def __init__(self, item: pytest.Item) -> None:
        self._names = {mark.name for mark in item.iter_markers()}

    def __call__(self, name: str) -> bool:
        return name in self._names
