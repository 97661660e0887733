"""What the editing commands share: the option for the file, and how they show lines and patches."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from harness.cli._lists_output import say
from harness.lists import Waiver

__all__ = ["WAIVES_FILE", "show", "show_patch", "waives_file_option"]

WAIVES_FILE = "test_lists/waives.txt"

waives_file_option = click.option(
    "--waives-file",
    "--file",
    "waives_file",
    default=WAIVES_FILE,
    show_default=True,
    metavar="FILE",
    help="waives.txt or waives.yml.",
)


def show(waivers: Iterable[Waiver], sign: str) -> None:
    """Print one line a waiver, with the place where it stands or stood."""
    for waiver in waivers:
        say(f"{waiver.place.file}:{waiver.place.line}: {sign} {waiver.text}")


def show_patch(patch: bytes) -> None:
    """Print a patch: every byte to a file or pipe, to a terminal only what is text."""
    if not sys.stdout.isatty():
        click.echo(patch, nl=False)
        return
    for line in patch.decode("utf-8", "replace").splitlines():
        say(line)
