"""From a list file to the tests that run: reading, conditions, names, `-k` and `-m`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.errors import UsageError
from harness.lists import Entry, Problem, Selected, match_entries, read_test_list
from harness.pytest_plugin.naming import entry_key

if TYPE_CHECKING:
    from harness.lists import Selection

__all__ = ["Chosen", "choose", "read_entries"]

_TOLD = 3  # unknown names that one error tells


@dataclass(frozen=True)
class Chosen:
    """A test, the list entries through which it runs, and its id as lists spell it."""

    item: pytest.Item
    entries: tuple[Entry, ...]
    id: str


def read_entries(file: str, context: str | None, match: str | None) -> tuple[Entry, ...]:
    """Return the entries that hold for a context and facts. Raises `UsageError` for anything unreadable.

    A flat list has no conditions: all its entries hold.
    """
    path = Path(file)
    if path.suffix not in (".yml", ".yaml"):
        listed = read_test_list(path)
        _refuse_errors(listed.problems)
        return listed.entries
    from harness.lists import detect_facts, parse_facts, read_test_db, select  # a flat list pays for no YAML

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
    items: Mapping[str, pytest.Item], entries: Sequence[Entry], collected: Sequence[str], allow_unknown: bool
) -> list[Chosen]:
    """Return the chosen tests in the list's order. A test that two entries name runs once.

    `items` are the tests by the ids that lists use, `collected` the ids of all tests, also of those that pytest's
    own options took out of `items`. Raises `UsageError` for entries that name none of them, unless that is
    allowed, and when nothing is left.
    """
    matched = [_widened(selected, items) for selected in match_entries(entries, collected)]
    if not allow_unknown:
        _refuse_unknown(matched, collected)
    chosen: dict[str, list[Entry]] = {}
    for selected in matched:
        for nodeid in selected.ids:
            item = items.get(nodeid)
            if item is not None and (nodeid == entry_key(selected.entry) or _holds(item, selected.entry)):
                chosen.setdefault(nodeid, []).append(selected.entry)
    if collected and not chosen:
        raise UsageError(_why_nothing_holds(matched, items))
    found = [Chosen(items[nodeid], tuple(through), nodeid) for nodeid, through in chosen.items()]
    _apply(found)
    return found


def _apply(chosen: Sequence[Chosen]) -> None:
    """Give each test the longest limit that one of its entries sets, and a process of its own if one says so."""
    for one in chosen:
        if not any(entry.markers for entry in one.entries):
            continue
        limits = [entry.timeout for entry in one.entries if entry.timeout]
        if limits:
            one.item.add_marker(pytest.mark.timeout(max(limits)))
        if any(entry.isolated for entry in one.entries):
            one.item.add_marker(pytest.mark.isolation)


def _widened(selected: Selected, items: Container[str]) -> Selected:
    """An entry that is itself the id of a test, as in TensorRT-LLM's outer session."""
    key = entry_key(selected.entry) if selected.entry.has_arguments or not selected.ids else ""
    return Selected(selected.entry, (key,)) if key and not selected.ids and key in items else selected


def _why_nothing_holds(matched: Sequence[Selected], left: Container[str]) -> str:
    narrowed = [one.entry for one in matched if any(nodeid in left for nodeid in one.ids)]
    if narrowed:
        told = "; ".join(f"{entry.place} {entry.test.text!r}" for entry in narrowed[:3])
        return f"the -k and -m of the list's entries leave no test: {told}"
    if any(one.ids for one in matched):
        return "pytest's own -k, -m or --deselect leaves no test that the list names"
    return "the list names no collected test, and --allow-unknown lets that pass"


def _refuse_unknown(matched: Sequence[Selected], ids: Sequence[str]) -> None:
    unknown = [selected.entry for selected in matched if not selected.ids]
    if not unknown:
        return
    told = "; ".join(_nearest(entry, ids) for entry in unknown[:_TOLD])
    more = f"; and {len(unknown) - _TOLD} more" if len(unknown) > _TOLD else ""
    raise UsageError(f"{told}{more}; --allow-unknown ignores it", unknown[0].place)


def _nearest(entry: Entry, ids: Sequence[str]) -> str:
    from rapidfuzz import process  # only a mistake pays for it

    test = entry.test.text
    file = test.partition("::")[0]
    candidates = [nodeid for nodeid in ids if nodeid.startswith(f"{file}::")] or ids
    close = [nodeid for nodeid, _, _ in process.extract(test, candidates, limit=3)]
    hint = f"nearest: {', '.join(close)}" if close else "no test was collected"
    return f"no collected test is named {test!r}; {hint}"


def _holds(item: pytest.Item, entry: Entry) -> bool:
    keyword, markexpr = entry.keyword, entry.markexpr
    if keyword is None and markexpr is None:
        return True
    from harness.lists.expression import ExpressionError, evaluate  # few entries have expressions

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
