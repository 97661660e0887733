"""Waivers that say again, or against, what another line says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from harness.lists.checks.finding import Finding, find, named
from harness.lists.checks.reasons import OUTCOMES
from harness.lists.model import Token, Waiver
from harness.lists.nodeid import normalized, scopes
from harness.lists.reason import bug_number

__all__ = ["check_copies"]


def check_copies(waivers: Sequence[Waiver]) -> Iterator[Finding]:
    """Compare every waiver with those that name the same test, or more than it.

    What a line with arguments names is the list entry of that text; it is only compared with its like.
    """
    index: defaultdict[tuple[str, str], list[Waiver]] = defaultdict(list)
    for waiver in waivers:
        for key, target in _keys(waiver):
            found = _same_place(waiver, target, index[waiver.head, key]) if index.get((waiver.head, key)) else None
            if found:
                yield found
            index[waiver.head, key].append(waiver)
    for waiver in waivers:
        for key, target in _keys(waiver):
            found = _wider_place(waiver, target, index.get(("", key), ())) or _wider_name(waiver, target, index)
            if found:
                yield found


def _keys(waiver: Waiver) -> list[tuple[str, Token]]:
    if waiver.has_arguments:
        return [(" ".join(waiver.test.text.split()), waiver.test)]
    return [(normalized(target.text), target) for target in waiver.targets]


def _outcome(waiver: Waiver) -> str:
    return " and ".join(marker.name for marker in waiver.markers if marker.name in OUTCOMES)


def _bug(waiver: Waiver) -> str:
    reason = waiver.reason
    return bug_number(reason.bug) or reason.bug or reason.note


def _line(waiver: Waiver) -> str:
    return f"line {waiver.place.line}"


def _same_place(waiver: Waiver, target: Token, earlier: Sequence[Waiver]) -> Finding:
    first = next((other for other in earlier if _differences(waiver, other)), earlier[0])
    differences = _differences(waiver, first)
    subject = named(waiver, target)
    if not differences:
        message = f"the same waiver stands in {_line(first)}"
        return find("duplicate", target.place, message, "remove one", subject=subject)
    message = f"waived in {_line(first)} too, but {differences}"
    expected = "only the last line counts: keep one, with both bugs if both are true"
    return find("conflict", target.place, message, expected, subject=subject)


def _differences(one: Waiver, other: Waiver) -> str:
    found = []
    if _outcome(one) != _outcome(other):
        found.append(f"{_outcome(one) or 'nothing'} here and {_outcome(other) or 'nothing'} there")
    if _bug(one) != _bug(other):
        found.append(f"bug {_bug(one) or 'none'} here and {_bug(other) or 'none'} there")
    return ", ".join(found)


def _wider_place(waiver: Waiver, target: Token, everywhere: Sequence[Waiver]) -> Finding | None:
    same = next((other for other in everywhere if _outcome(other) == _outcome(waiver)), None)
    if not waiver.head or same is None:
        return None
    bug = f", for bug {_bug(same) or 'none'}" if _bug(same) != _bug(waiver) else ""
    message = f"{_line(same)} waives it in every stage{bug}"
    expected = f"remove this line, or limit {_line(same)} to the stages that need it"
    return find("redundant", target.place, message, expected, subject=named(waiver, target))


def _wider_name(waiver: Waiver, target: Token, index: dict[tuple[str, str], list[Waiver]]) -> Finding | None:
    if waiver.has_arguments:
        return None
    for scope, level in islice(scopes(normalized(target.text)), 1, None):
        for head in dict.fromkeys((waiver.head, "")):
            for other in index.get((head, scope), ()):
                if not other.has_arguments and _outcome(other) == _outcome(waiver):
                    message = f"{_line(other)} already waives the {level}"
                    expected = f"remove this line, or {_line(other)} if not all of it fails"
                    return find("shadowed", target.place, message, expected, subject=named(waiver, target))
    return None
