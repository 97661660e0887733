"""`harness lists`: render, explain and check test lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from harness.cli._lists_check import CheckOptions, check_options, entries_of, read_lists, report
from harness.cli._lists_output import print_problems, say
from harness.errors import ExitCode, Place, UsageError
from harness.lists import TestList, read_test_db
from harness.lists.checks import check_test_db, check_test_list, in_order

if TYPE_CHECKING:
    from harness.lists import BlockVerdict, Found, Selection, TestDb, TestDbFile
    from harness.lists.checks import Against, Finding

__all__ = ["lists"]

_TEST_DB = "test_lists/test-db"


_test_db_option = click.option(
    "--test-db", default=_TEST_DB, show_default=True, metavar="PATH", help="A .yml file, or a folder of them."
)


@click.group()
def lists() -> None:
    """Read, render and explain test lists (test-db YAML, flat .txt lists)."""


@lists.command()
@_test_db_option
@click.option("--context", metavar="NAME", help="The context to render. Not needed when there is only one.")
@click.option(
    "--match",
    metavar="FACTS",
    help="What the conditions are compared with: gpu=H100,stage=pre_merge,... or a JSON object, flat or with "
    "ranges, wildcards and terms. A key that is not given removes no block. "
    "Default: the facts of this machine.",
)
def render(test_db: str, context: str | None, match: str | None) -> int:
    """Print the flat list of a context: the entries of every block whose condition holds, in file order.

    Exit code 0; 1 when no block holds or a piece of the list is broken (the rest is printed); 2 for a usage
    error or an unreadable file.
    """
    from harness.lists import detect_facts, parse_facts, select

    db = read_test_db(test_db)
    facts = detect_facts() if match is None else parse_facts(match)
    selection = select(db, context or _only_context(db), facts)
    for entry in selection.entries:
        say(entry.text)
    print_problems(db.problems, err=True)
    broken = any(problem.severity == "error" for problem in db.problems)
    if not selection.entries:
        _print_why_empty(selection)
    chosen = any(verdict.selected for verdict in selection.verdicts)
    return ExitCode.HOLDS if chosen and not broken else ExitCode.VIOLATION


@lists.command()
@click.argument("test")
@_test_db_option
@click.option("--context", metavar="NAME", help="Look in this context only. Default: in all.")
@click.option(
    "--assume",
    default="",
    metavar="FACTS",
    help="Facts of any machine or stage, there or not: gpu=H100,system_gpu_count=4,... or a JSON object. "
    "Default: none, so that the conditions themselves are shown.",
)
def explain(test: str, test_db: str, context: str | None, assume: str) -> int:
    """Tell which entries name TEST, whether their blocks are selected, and if not, by which condition.

    TEST is a node id, or the path of a file or folder.
    """
    from harness.lists import explain_selection, parse_facts

    db = read_test_db(test_db)
    facts = parse_facts(assume)
    found = explain_selection(db, test, facts, context)
    if not found:
        say(f"{test}: no entry names it; {_near(db, test)}")
    for item in found:
        _print_found(item, set(facts))
    print_problems(db.problems, err=True)
    return ExitCode.HOLDS


@lists.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@check_options
@click.option("--require-listed", is_flag=True, help="Report tests of --tests that no list runs.")
def check(paths: tuple[str, ...], require_listed: bool, **common: Any) -> int:
    """Check test lists: .yml files, folders of them, flat .txt lists.

    Names are compared with --tests or --source, blocks with --stages. docs/waivers.md explains every code.
    Exit code 0 without errors and warnings, 1 with some, 2 when a file or option cannot be used.
    """
    options = CheckOptions(**common)
    if require_listed and not options.tests:
        raise UsageError("--require-listed compares lists with collected ids: give --tests FILE, too")
    against = options.against()
    files = read_lists(paths or (_TEST_DB,))
    findings = [finding for file in files for finding in _check(file, against)]
    if require_listed:
        from harness.lists.checks import check_unlisted_tests
        from harness.lists.known import read_ids

        entries = [entry for file in files for entry in entries_of(file)]
        findings += [f for ids in options.tests for f in check_unlisted_tests(entries, read_ids(ids), ids)]
    return report(in_order(findings), len(files), options)


def _check(file: TestDbFile | TestList, against: Against) -> list[Finding]:
    return check_test_list(file, against) if isinstance(file, TestList) else check_test_db(file, against)


def _only_context(db: TestDb) -> str:
    if len(db.contexts) != 1:
        names = ", ".join(db.contexts) or "none"
        raise UsageError(f"has not one context but: {names}; choose with --context", Place(db.path))
    return db.contexts[0]


def _print_why_empty(selection: Selection) -> None:
    say(f"context {selection.context}: nothing is selected", err=True)
    for verdict in selection.verdicts:
        why = "; ".join(map(str, verdict.mismatches)) or "holds, but has no tests"
        say(f"  {_block(verdict)}: {why}", err=True)


def _block(verdict: BlockVerdict) -> str:
    block = verdict.block
    return f"{block.place} block {block.index + 1} of {block.context}"


def _print_found(found: Found, given: set[str]) -> None:
    from harness.lists.upstream import reading_differences

    entry, verdict = found.entry, found.verdict
    say(f"{entry.place}: {entry.text}")
    say(f"  names the {found.level}{', narrowed by its arguments' if entry.has_arguments else ''}")
    if verdict.selected:
        free = [rule for rule in verdict.block.condition.rules if rule.key.text not in given]
        needs = " and ".join(f"{rule.key} is {rule}" for rule in free)
        say(f"  in: {_block(verdict)}{f', where {needs}' if needs else ''}")
    else:
        say(f"  out: {_block(verdict)}: {'; '.join(map(str, verdict.mismatches))}")
    for sentence in reading_differences(entry):
        say(f"  {sentence}")


def _near(db: TestDb, test: str) -> str:
    from harness.lists.selecting import nearest  # difflib is paid for only when something is wrong

    names = tuple(dict.fromkeys(target.text for block in db.blocks for e in block.entries for target in e.targets))
    close = nearest(test, names)
    return f"did you mean {' or '.join(close)}?" if close else "none has a name like it"
