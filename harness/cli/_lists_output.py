"""How `lists` and `waives` print."""

from __future__ import annotations

from collections.abc import Iterable

import click

from harness.lists import Problem

__all__ = ["print_problems", "say"]


def say(text: str, err: bool = False) -> None:
    """Print one line. A name may hold anything, but a terminal gets only what is text."""
    click.echo("".join(c if c.isprintable() else "\ufffd" for c in text), err=err)


def print_problems(problems: Iterable[Problem], err: bool = False) -> bool:
    """Print one problem a line, `file:line:column: code what; expected`. Returns whether there was any."""
    found = False
    for problem in problems:
        found = True
        say(str(problem), err)
    return found
