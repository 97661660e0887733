"""`harness waives merge` and `diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli._lists_output import say
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.lists.edits.comparing import Difference
    from harness.lists.edits.document import Document, Item
    from harness.lists.edits.merging import Conflict

__all__ = ["diff", "merge"]


@click.command()
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.option("-o", "--output", metavar="FILE", help="Where the result goes. Default: OURS; '-': standard output.")
def merge(base: str, ours: str, theirs: str, output: str | None) -> int:
    """Merge what THEIRS changed since BASE into OURS, as sets of lines keyed by test and prefix.

    As a git merge driver: '*waives.txt merge=waives' in .gitattributes, and
    'git config merge.waives.driver "harness waives merge %O %A %B"'.

    Exit code 0; 1 when both sides changed a line in two ways, which is shown between conflict markers; 2 when
    a file cannot be read.
    """
    from harness.files import write_atomically
    from harness.lists.edits import Rewrite, write_all
    from harness.lists.edits.merging import merge_sources
    from harness.lists.source import read_source

    sources = [read_source(file) for file in (base, ours, theirs)]
    merged = merge_sources(*sources)
    if output == "-":
        click.echo(merged.data, nl=False)
    elif output in (None, ours):
        write_all([Rewrite(sources[1], merged.data)])
    else:
        write_atomically(Path(output), merged.data)
    for conflict in merged.conflicts:
        say(_conflict(conflict), err=True)
    return ExitCode.VIOLATION if merged.conflicts else ExitCode.HOLDS


def _conflict(conflict: Conflict) -> str:
    name = f"full:{conflict.prefix}/{conflict.test}" if conflict.prefix else conflict.test
    sides = (("base", conflict.base), ("ours", conflict.ours), ("theirs", conflict.theirs))
    return f"conflict: {name}: " + ", ".join(f"{side} {_outcomes(items)}" for side, items in sides)


def _outcomes(items: tuple[Item, ...]) -> str:
    return " and ".join(_outcome(item) for item in items) or "none"


def _outcome(item: Item) -> str:
    if item.waiver is None:
        return item.data.decode("utf-8", "replace").strip()
    return " ".join(m.name if m.value is None else f"{m.name} ({m.value})" for m in item.waiver.markers)


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def diff(a: str, b: str, form: str) -> int:
    """Tell which waivers were added, removed, changed and moved between the files A and B.

    Exit code 0 without a difference, 1 with one, 2 when a file cannot be read.
    """
    from harness.lists.edits import read_document
    from harness.lists.edits.comparing import diff as compare

    before, after = read_document(a), read_document(b)
    difference = compare(before, after)
    if form == "json":
        _print_json(difference, before, after)
    else:
        _print_text(difference)
    return ExitCode.VIOLATION if difference else ExitCode.HOLDS


def _print_text(difference: Difference) -> None:
    for item in difference.added:
        say(f"+ {_text(item)}")
    for item in difference.removed:
        say(f"- {_text(item)}")
    for change in difference.changed:
        fields = "; ".join(
            f"{what} {old or 'none'} -> {new or 'none'}" for what, (old, new) in change.fields.items()
        )
        say(f"~ {_name(change.after)}: {fields}")
    for before, after in difference.moved:
        say(f"> {_name(after)}: line {before.line} -> {after.line}")


def _print_json(difference: Difference, before: Document, after: Document) -> None:
    import json

    report = {
        "a": before.source.file,
        "b": after.source.file,
        "added": [_object(item) for item in difference.added],
        "removed": [_object(item) for item in difference.removed],
        "changed": [
            {
                **_object(change.after),
                "was_line": change.before.line,
                "fields": {what: {"from": old, "to": new} for what, (old, new) in change.fields.items()},
            }
            for change in difference.changed
        ],
        "moved": [{**_object(new), "was_line": old.line} for old, new in difference.moved],
    }
    click.echo(json.dumps(report, indent=2))


def _object(item: Item) -> dict[str, object]:
    place: dict[str, object] = {"line": item.line, "text": _text(item)}
    if item.waiver:
        place |= {"test": item.waiver.test.text, "prefix": item.waiver.head}
    return place


def _text(item: Item) -> str:
    return item.waiver.text if item.waiver else b"".join(item.lines).decode("utf-8", "replace").strip()


def _name(item: Item) -> str:
    assert item.waiver is not None
    return f"full:{item.waiver.prefix}/{item.waiver.test}" if item.waiver.prefix else item.waiver.test.text
