"""Text that goes to a terminal or a page: what came from outside is made harmless, what is ours may be painted."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Paint", "plain", "safe"]

Paint = Callable[[str, str], str]  # (text, colour) -> text


def plain(text: str, colour: str) -> str:
    """Paint nothing."""
    del colour
    return text


def safe(text: str) -> str:
    """Return text from outside without control characters, which could drive a terminal or turn a page's text."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
