"""Waivers that say again, or against, what another line says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from harness.lists.checks.finding import Finding, find, named
from harness.lists.checks.reasons import OUTCOMES
from harness.lists.checks.scopes import bounded_scopes
from harness.lists.model import Token, Waiver
from harness.lists.nodeid import normalized
from harness.lists.reason import bug_number

__all__ = ["check_copies"]

# (head, name, outcome) -> the first line that says so. Lines with arguments are not here.
_Firsts = Mapping[tuple[str, str, str], Waiver]


def check_copies(waivers: Sequence[Waiver]) -> Iterator[Finding]:
    """Compare every waiver with those that name the same test, or more than it.

    What a line with arguments names is the list entry of that text; it is only compared with its like.
    """
    earlier: dict[tuple[str, str], tuple[Waiver, Waiver]] = {}
    firsts: dict[tuple[str, str, str], Waiver] = {}
    for waiver in waivers:
        for name, target in _names(waiver):
            key = (waiver.head, name)
            if key in earlier:
                yield _same_place(waiver, target, *earlier[key])
            earlier[key] = (earlier.get(key, (waiver,))[0], waiver)
            firsts.setdefault((*key, _outcome(waiver)), waiver)
    for waiver in waivers:
        for name, target in _names(waiver):
            found = _wider_place(waiver, name, target, firsts) or _wider_name(waiver, name, target, firsts)
            if found:
                yield found


def _names(waiver: Waiver) -> list[tuple[str, Token]]:
    if waiver.has_arguments:
        # A blank, which no target has at its end, keeps such a text apart from a target.
        return [(" ".join(waiver.test.text.split()) + " ", waiver.test)]
    return [(normalized(target.text), target) for target in waiver.targets]


def _outcome(waiver: Waiver) -> str:
    return " and ".join(marker.name for marker in waiver.markers if marker.name in OUTCOMES)


def _bug(waiver: Waiver) -> str:
    reason = waiver.reason
    return bug_number(reason.bug) or reason.bug or reason.note


def _line(waiver: Waiver) -> str:
    return f"line {waiver.place.line}"


def _same_place(waiver: Waiver, target: Token, first: Waiver, previous: Waiver) -> Finding:
    other = first if _differences(waiver, first) else previous
    differences = _differences(waiver, other)
    subject = named(waiver, target)
    if not differences:
        message = f"the same waiver stands in {_line(first)}"
        return find("duplicate", target.place, message, "remove one", subject=subject)
    message = f"waived in {_line(other)} too, but {differences}"
    expected = "only the last line counts: keep one, with both bugs if both are true"
    return find("conflict", target.place, message, expected, subject=subject)


def _differences(one: Waiver, other: Waiver) -> str:
    found = []
    if _outcome(one) != _outcome(other):
        found.append(f"{_outcome(one) or 'nothing'} here and {_outcome(other) or 'nothing'} there")
    if _bug(one) != _bug(other):
        found.append(f"bug {_bug(one) or 'none'} here and {_bug(other) or 'none'} there")
    return ", ".join(found)


def _wider_place(waiver: Waiver, name: str, target: Token, firsts: _Firsts) -> Finding | None:
    same = firsts.get(("", name, _outcome(waiver)))
    if not waiver.head or same is None:
        return None
    bug = f", for bug {_bug(same) or 'none'}" if _bug(same) != _bug(waiver) else ""
    message = f"{_line(same)} waives it in every stage{bug}"
    expected = f"remove this line, or limit {_line(same)} to the stages that need it"
    return find("redundant", target.place, message, expected, subject=named(waiver, target))


def _wider_name(waiver: Waiver, name: str, target: Token, firsts: _Firsts) -> Finding | None:
    if waiver.has_arguments:
        return None
    for scope, level in islice(bounded_scopes(name), 1, None):
        for head in dict.fromkeys((waiver.head, "")):
            if other := firsts.get((head, scope, _outcome(waiver))):
                message = f"{_line(other)} already waives the {level}"
                expected = f"remove this line, or {_line(other)} if not all of it fails"
                return find("shadowed", target.place, message, expected, subject=named(waiver, target))
    return None
