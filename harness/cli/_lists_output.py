"""What `lists` and `waives` print alike."""

from __future__ import annotations

from collections.abc import Iterable

import click

from harness.lists import Problem

__all__ = ["print_problems"]


def print_problems(problems: Iterable[Problem], err: bool = False) -> bool:
    """Print one problem a line, `file:line:column: code what; expected`. Returns whether there was any."""
    found = False
    for problem in problems:
        found = True
        # A name from a file may hold anything; a terminal gets text.
        click.echo("".join(c if c.isprintable() else "\ufffd" for c in str(problem)), err=err)
    return found
