"""The condition of a block, and whether facts fulfil it.

A key that the condition does not name is free; a key that the facts do not name is taken as fulfilled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from harness.errors import Place, UsageError
from harness.lists.model import Problem, Token
from harness.lists.nodes import MappingNode, Node, ScalarNode, SequenceNode

__all__ = ["Condition", "Facts", "Mismatch", "Range", "Term", "Wildcard", "mismatches", "parse_condition"]

Facts: TypeAlias = Mapping[str, str | int | float | bool]
"""What is known of a machine and a stage: `{"gpu": "H100", "system_gpu_count": 1, "stage": "pre_merge"}`."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_TRUE, _FALSE = ("yes", "true", "on"), ("no", "false", "off")


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `gte` to `lte`, both included; None leaves that end open."""

    key: Token
    gte: float | None = None
    lte: float | None = None

    def __str__(self) -> str:
        if self.gte is not None and self.gte == self.lte:
            return _shown(self.gte)
        ends = [f">= {_shown(self.gte)}" if self.gte is not None else ""]
        ends.append(f"<= {_shown(self.lte)}" if self.lte is not None else "")
        return " and ".join(end for end in ends if end) or "any number"


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Shell patterns, without regard to case, one of which must match."""

    key: Token
    patterns: tuple[Token, ...]

    def __str__(self) -> str:
        return " or ".join(pattern.text for pattern in self.patterns) or "nothing"


@dataclass(frozen=True, slots=True)
class Term:
    """A value that must be equal as text. A YAML boolean is `True` or `False`, as `str()` gives it."""

    key: Token
    value: Token

    def __str__(self) -> str:
        return self.value.text


@dataclass(frozen=True, slots=True)
class Condition:
    """All three sections must hold. An empty condition always holds."""

    place: Place
    ranges: tuple[Range, ...] = ()
    wildcards: tuple[Wildcard, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def rules(self) -> tuple[Range | Wildcard | Term, ...]:
        """Every rule of the three sections."""
        return (*self.ranges, *self.wildcards, *self.terms)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A rule that a fact does not fulfil."""

    rule: Range | Wildcard | Term
    actual: str

    def __str__(self) -> str:
        key = self.rule.key
        return f"{key} is {self.actual}, but {key.place} expects {self.rule}"


def mismatches(condition: Condition, facts: Facts) -> Iterator[Mismatch]:
    """Every rule that the facts break; nothing when the condition holds.

    Raises UsageError when a fact that has a range is no finite number.
    """
    for rule in condition.rules:
        if rule.key.text in facts:
            fact = facts[rule.key.text]
            if not _holds(rule, fact):
                yield Mismatch(rule, str(fact))


def _holds(rule: Range | Wildcard | Term, fact: str | int | float | bool) -> bool:
    if isinstance(rule, Term):
        return rule.value.text == str(fact)
    if isinstance(rule, Wildcard):
        return any(fnmatchcase(str(fact).lower(), pattern.text.lower()) for pattern in rule.patterns)
    number = _number(str(fact))
    if number is None:
        raise UsageError(f"the fact {rule.key}={fact} is no number, but {rule.key.place} has a range for it")
    return (rule.gte is None or rule.gte <= number) and (rule.lte is None or number <= rule.lte)


def _number(text: str) -> float | None:
    value = float(text) if len(text) < 64 and _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _shown(value: float | None) -> str:
    return f"{value:.12g}"


def parse_condition(node: Node) -> tuple[Condition, list[Problem]]:
    """Read the value of `condition:`. A rule of the wrong shape is a problem and is left out."""
    problems: list[Problem] = []
    ranges: list[Range] = []
    wildcards: list[Wildcard] = []
    terms: list[Term] = []
    for section, rules in _items(node, "condition", problems):
        if section.text not in ("ranges", "wildcards", "terms"):
            message, expected = f"unknown section '{section}'", "expected ranges, wildcards or terms"
            problems.append(Problem("unknown-key", section.place, message, expected))
            continue
        for key, value in _items(rules, section.text, problems):
            if section.text == "ranges":
                ranges.append(_range(key, value, problems))
            elif section.text == "wildcards":
                wildcards.append(Wildcard(key, tuple(_texts(key, value, problems))))
            elif isinstance(value, ScalarNode):
                terms.append(Term(key, Token(_term(value), value.place)))
            else:
                problems.append(
                    Problem("wrong-type", value.place, f"term '{key}' is no text", "expected one value")
                )
    return Condition(node.place, tuple(ranges), tuple(wildcards), tuple(terms)), problems


def _items(node: Node, name: str, problems: list[Problem]) -> Iterator[tuple[Token, Node]]:
    if isinstance(node, MappingNode):
        yield from ((Token(key.text, key.place), value) for key, value in node.pairs)
    elif not (isinstance(node, ScalarNode) and node.plain and node.text in ("", "~", "null")):
        problems.append(
            Problem("wrong-type", node.place, f"'{name}' is no mapping", "expected 'key: value' lines")
        )


def _range(key: Token, node: Node, problems: list[Problem]) -> Range:
    ends: dict[str, float] = {}
    for end, value in _items(node, key.text, problems):
        number = _number(value.text) if isinstance(value, ScalarNode) else None
        if end.text not in ("gte", "lte"):
            message = f"unknown end '{end}' of a range"
            problems.append(Problem("unknown-key", end.place, message, "expected gte or lte"))
        elif number is None:
            problems.append(Problem("wrong-type", value.place, f"{key}.{end} is no number", "expected a number"))
        else:
            ends[end.text] = number
    return Range(key, ends.get("gte"), ends.get("lte"))


def _texts(key: Token, node: Node, problems: list[Problem]) -> Iterator[Token]:
    for item in node.items if isinstance(node, SequenceNode) else (node,):
        if isinstance(item, ScalarNode):
            yield Token(item.text, item.place)
        else:
            problems.append(
                Problem("wrong-type", item.place, f"a pattern of '{key}' is no text", "expected a pattern")
            )


def _term(node: ScalarNode) -> str:
    if node.plain and node.text.lower() in _TRUE:
        return "True"
    return "False" if node.plain and node.text.lower() in _FALSE else node.text
