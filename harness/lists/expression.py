"""The `-k` and `-m` expressions of list entries: names joined by `and`, `or`, `not` and parentheses.

pytest evaluates its own options, but offers no public way to evaluate one for a single list entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["ExpressionError", "evaluate"]

_TOKEN = re.compile(r"\s*(?:(?P<paren>[()])|(?P<name>[\w:+\-.\[\]\\/=,]+))")


class ExpressionError(ValueError):
    """An expression cannot be read. `column` counts from 1 within it."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


def evaluate(expression: str, matches: Callable[[str], bool]) -> bool:
    """Return the value of `expression` where `matches` says which names hold. An empty one holds."""
    tokens = _tokens(expression)
    if not tokens:
        return True
    value, rest = _either(tokens, matches)
    if rest:
        raise ExpressionError(f"expected 'and' or 'or', found {rest[0][0]!r}", rest[0][1])
    return value


_Tokens = list[tuple[str, int]]


def _tokens(expression: str) -> _Tokens:
    tokens, at = [], 0
    text = expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{text[at:].strip()[:1]!r} is no part of a name", at + 1)
        tokens.append((match.group().strip(), match.end() - len(match.group().strip()) + 1))
        at = match.end()
    return tokens


def _either(tokens: _Tokens, matches: Callable[[str], bool]) -> tuple[bool, _Tokens]:
    value, rest = _both(tokens, matches)
    while rest and rest[0][0] == "or":
        other, rest = _both(rest[1:], matches)
        value = value or other
    return value, rest


def _both(tokens: _Tokens, matches: Callable[[str], bool]) -> tuple[bool, _Tokens]:
    value, rest = _one(tokens, matches)
    while rest and rest[0][0] == "and":
        other, rest = _one(rest[1:], matches)
        value = value and other
    return value, rest


def _one(tokens: _Tokens, matches: Callable[[str], bool]) -> tuple[bool, _Tokens]:
    if not tokens:
        raise ExpressionError("ends where a name is expected", 1)
    (text, column), rest = tokens[0], tokens[1:]
    if text == "not":
        value, rest = _one(rest, matches)
        return not value, rest
    if text == "(":
        value, rest = _either(rest, matches)
        if not rest or rest[0][0] != ")":
            raise ExpressionError("this parenthesis is not closed", column)
        return value, rest[1:]
    if text in (")", "and", "or"):
        raise ExpressionError(f"expected a name, found {text!r}", column)
    return matches(text), rest
