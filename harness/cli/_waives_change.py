"""`harness waives add`, `remove`, `rename` and `fmt`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from harness.cli._lists_output import print_problems, say
from harness.cli._waives_output import WAIVES_FILE, show, waives_file_option
from harness.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from harness.lists import Problem
    from harness.lists.edits import Document

__all__ = ["add", "fmt", "remove", "rename"]

_prefix_option = click.option(
    "--prefix", "--gpu", "prefix", metavar="HEAD", help="The stage-name head, as in full:<HEAD>/."
)


@click.command()
@click.argument("test")
@click.option("--bug", required=True, metavar="BUG", help="6535874, nvbugs/6535874 or a URL.")
@_prefix_option
@click.option("--marker", type=click.Choice(["SKIP", "XFAIL", "UNSTABLE"]), default="SKIP", show_default=True)
@click.option("--owner", default="", help="Who repairs it.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="The last day it holds.")
@click.option("--reason", default="", metavar="TEXT", help="More to say than the bug does.")
@waives_file_option
def add(
    test: str,
    bug: str,
    prefix: str | None,
    marker: Literal["SKIP", "XFAIL", "UNSTABLE"],
    owner: str,
    until: datetime | None,
    reason: str,
    waives_file: str,
) -> int:
    """Waive TEST: a node id, file or folder, with its arguments if the list entry has some.

    The line goes to its sorted place. Exit code 0; 1 when the file has a line of this test and place already,
    and nothing is written; 2 for what is no waiver, or an unreadable file.
    """
    from harness.lists.edits import Rewrite, read_document, write_all
    from harness.lists.edits.adding import add as added
    from harness.lists.edits.adding import clash, new_waiver, wider
    from harness.lists.upstream import reading_differences

    document = read_document(waives_file)
    last_day = until.date() if until else None
    waiver = new_waiver(test, bug, prefix=prefix or "", marker=marker, owner=owner, until=last_day, note=reason)
    if found := clash(document, waiver):
        remedy = "nothing to add" if found.same else "change that line, or remove it first"
        say(f"{found.waiver.place}: already there: {found.waiver.text}; {remedy}", err=True)
        return ExitCode.VIOLATION
    if line := wider(document, waiver):
        say(f"{line.place}: waives it already: {line.text}", err=True)
    result = added(document, waiver).reread()
    write_all([Rewrite(document.source, result.data)])
    written = clash(result, waiver)
    show([written.waiver] if written else [], "+")
    for sentence in reading_differences(waiver):
        say(f"  {sentence}", err=True)
    return ExitCode.HOLDS


@click.command()
@click.argument("tests", nargs=-1, metavar="[TEST]...")
@click.option("--bug", "bugs", multiple=True, metavar="BUG", help="Every line of this bug. May be repeated.")
@_prefix_option
@waives_file_option
def remove(tests: tuple[str, ...], bugs: tuple[str, ...], prefix: str | None, waives_file: str) -> int:
    """Remove the lines that waive exactly TEST, for every prefix or for --prefix only; or all lines of a bug.

    The comment lines directly above a line go with it. Exit code 0; 2 when a test or bug has no line, and
    nothing is written.
    """
    from harness.lists.edits import Rewrite, read_document, write_all
    from harness.lists.edits import remove as without
    from harness.lists.edits.removing import lines_of

    if not tests and not bugs:
        raise UsageError("nothing to remove; give a TEST or --bug")
    document = read_document(waives_file)
    indices = lines_of(document, tests, bugs, prefix)
    write_all([Rewrite(document.source, without(document, indices).reread().data)])
    show((item.waiver for i, item in enumerate(document.items) if i in indices and item.waiver), "-")
    return ExitCode.HOLDS


@click.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--lists",
    "paths",
    multiple=True,
    default=("test_lists",),
    show_default=True,
    metavar="PATH",
    help="A folder of lists and waiver files, or one file. May be repeated.",
)
def rename(old: str, new: str, paths: tuple[str, ...]) -> int:
    """Rename a test, class, file or folder in test lists and waiver files together, with all that is inside it.

    All files are rewritten or none. Exit code 0; 1 when a line that cannot be read has the old name too; 2
    when nothing has it, or a file cannot be rewritten.
    """
    from harness.lists.edits import write_all
    from harness.lists.edits.renaming import Renaming, list_files, rename_in
    from harness.lists.source import read_source

    renaming = Renaming.of(old, new)
    results = [rename_in(read_source(file), renaming) for file in list_files(paths)]
    unread = [problem for result in results for problem in result.unread]
    if not unread and not any(result.names for result in results):
        raise UsageError(f"no list in {', '.join(paths)} has '{old}'; give a whole name, from its first folder on")
    write_all([result.rewrite for result in results])
    for result in results:
        for token, name in result.names:
            say(f"{token.place.file}:{token.place.line}: {token.text} -> {name}")
    print_problems(unread, err=True)
    return ExitCode.VIOLATION if unread else ExitCode.HOLDS


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a file is not in normal form.")
def fmt(files: tuple[str, ...], check: bool) -> int:
    """Bring waiver files into normal form: sorted, one spelling, no line twice. Comments stay with their lines.

    Exit code 0; 1 when a line cannot be read (it stays as it is), or with --check when a file would change; 2
    when a file cannot be read at all.
    """
    from harness.lists.edits import Rewrite, read_document, write_all
    from harness.lists.edits.formatting import fmt as normal

    documents = [read_document(file) for file in files or (WAIVES_FILE,)]
    rewrites = [Rewrite(document.source, normal(document).reread().data) for document in documents]
    changed = [rewrite.source.file for rewrite in rewrites if rewrite.data != rewrite.source.data]
    if not check:
        write_all(rewrites)
    for file in changed:
        say(f"{file}: {'not in normal form; run harness waives fmt' if check else 'formatted'}")
    broken = print_problems(_broken(documents), err=True)
    return ExitCode.VIOLATION if broken or (check and changed) else ExitCode.HOLDS


def _broken(documents: Iterable[Document]) -> Iterable[Problem]:
    for document in documents:
        lines = {item.line for item in document.items if item.kind == "other"}
        yield from (p for p in document.problems if p.severity == "error" and p.place.line in lines)
