"""`--bundle`: the option, and what is said of what was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from harness.bundles import Bundle
from harness.report.text import safe

__all__ = ["bundle_option", "say_bundles"]

F = TypeVar("F", bound=Callable[..., object])


def bundle_option(command: F) -> F:
    """Add --bundle."""
    words = "Leave a folder for each finding in this one, with all that shows it again elsewhere."
    return click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help=words)(command)


def say_bundles(bundles: Sequence[Bundle]) -> None:
    """Print where each bundle is and how its replay ended."""
    for bundle in bundles:
        click.echo(f"bundle {safe(str(bundle.path))}: {safe(bundle.told)}")
