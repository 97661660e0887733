"""What `lists check` and `waives check` have in common: options, and what is done with the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli._lists_output import say
from harness.errors import ExitCode, UsageError
from harness.lists.checks import Against, Finding, chosen
from harness.lists.checks.output import github_lines, json_text, summary

if TYPE_CHECKING:
    from harness.lists import Entry, TestDbFile, TestList
    from harness.lists.bugstates import BugStates
    from harness.lists.known import KnownTests
    from harness.lists.stages import Stage

# What a check compares lists with is imported only when it is given: a hook that gives nothing pays nothing.

__all__ = [
    "CheckOptions",
    "check_options",
    "entries_of",
    "given_date",
    "read_bugs",
    "read_entries",
    "read_lists",
    "report",
]

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--tests",
        multiple=True,
        metavar="FILE",
        help="Test ids, one a line, or what 'pytest --collect-only -q' printed. May be repeated.",
    ),
    click.option(
        "--source",
        multiple=True,
        metavar="DIR",
        help="The folder that test names start from: its files are parsed, never imported. May be repeated.",
    ),
    click.option(
        "--stages",
        metavar="FILE",
        help="Stage names, one a line; facts may follow a name: 'nightly gpu=H100,stage=post_merge'.",
    ),
    click.option("--select", multiple=True, metavar="CODES", help="Only these findings: unknown-test,unknown-*."),
    click.option("--ignore", multiple=True, metavar="CODES", help="Not these findings: no-bug,upstream-*."),
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json", "github", "sarif"]),
        default="text",
        show_default=True,
        help="How findings are printed.",
    ),
    click.option("--baseline", metavar="FILE", help="Only findings that are not in FILE count."),
    click.option("--write-baseline", metavar="FILE", help="Write all findings to FILE and leave with 0."),
)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The options that both commands take, as given."""

    tests: tuple[str, ...]
    source: tuple[str, ...]
    stages: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    form: str
    baseline: str | None
    write_baseline: str | None

    def against(self) -> Against:
        """Read what the lists are compared with. Raises UsageError when something cannot be read."""
        return Against(tests=self._known(), stages=_read_stages(self.stages) if self.stages else ())

    def _known(self) -> KnownTests | None:
        from harness.lists.known import merged, read_ids

        known: list[KnownTests] = [read_ids(file) for file in self.tests]
        if self.source:
            from harness.lists.known.source import SourceTests

            known += [SourceTests(folder) for folder in self.source]
        return merged(known)


def check_options(command: _F) -> _F:
    """Add the common options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _read_stages(path: str) -> tuple[Stage, ...]:
    from harness.lists.stages import read_stages

    return read_stages(path)


def read_bugs(path: str) -> BugStates:
    """The export of a bug tracker. Raises UsageError."""
    from harness.lists.bugstates import read_bug_states

    return read_bug_states(path)


def read_lists(paths: Iterable[str]) -> list[TestDbFile | TestList]:
    """Read test lists of every form: .yml files, folders of them, flat .txt lists. Raises UsageError."""
    from harness.lists import read_test_db, read_test_list

    files: list[TestDbFile | TestList] = []
    for path in dict.fromkeys(paths):
        files += [read_test_list(path)] if path.endswith(".txt") else read_test_db(path).files
    return files


def entries_of(file: TestDbFile | TestList) -> Sequence[Entry]:
    """All entries of a list."""
    from harness.lists import TestList

    if isinstance(file, TestList):
        return file.entries
    return [entry for block in file.blocks for entry in block.entries]


def read_entries(paths: Iterable[str]) -> list[Entry]:
    """All entries of lists of every form."""
    return [entry for file in read_lists(paths) for entry in entries_of(file)]


def report(findings: Sequence[Finding], files: int, options: CheckOptions) -> ExitCode:
    """Print the chosen findings, or write them to a baseline; the exit code of the command."""
    wanted = chosen(findings, options.select, options.ignore)
    if options.write_baseline:
        return _write_baseline(wanted, options.write_baseline)
    known = gone = 0
    if options.baseline:
        from harness.lists.checks.baseline import compare, read_baseline

        wanted, known, gone = compare(wanted, read_baseline(options.baseline), options.baseline)
    _print(wanted, known, options.form)
    if options.form == "text":
        say(summary(wanted, files))
        if options.baseline and (known or gone):
            again = f"; {gone} of it are gone: write it again" if gone else ""
            say(f"The baseline knows {known} more{again}.")
    fails = any(finding.severity != "note" for finding in wanted)
    return ExitCode.VIOLATION if fails else ExitCode.HOLDS


def _print(findings: Sequence[Finding], known: int, form: str) -> None:
    if form == "json":
        click.echo(json_text(findings, known))  # ASCII and escaped already
    elif form == "sarif":
        from harness.lists.checks.sarif import sarif_text

        click.echo(sarif_text(findings))
    else:
        for line in github_lines(findings) if form == "github" else map(str, findings):
            say(line)


def _write_baseline(findings: Sequence[Finding], path: str) -> ExitCode:
    from harness.files import write_atomically
    from harness.lists.checks.baseline import render_baseline

    write_atomically(Path(path), render_baseline(findings, path))
    count = sum(finding.severity != "note" for finding in findings)
    say(f"{path}: holds {count} finding{'' if count == 1 else 's'} now")
    return ExitCode.HOLDS


def given_date(text: str | None) -> date:
    """The date of `--today`, or of today. Raises UsageError when it is none."""
    try:
        return date.fromisoformat(text) if text else date.today()
    except ValueError as error:
        raise UsageError(f"--today {text!r} is no date; expected YYYY-MM-DD") from error
