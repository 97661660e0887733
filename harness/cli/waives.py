"""`harness waives`: explain and check waiver files."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from harness.cli._lists_check import CheckOptions, check_options, given_date, read_bugs, read_entries, report
from harness.cli._lists_output import print_problems, say
from harness.errors import ExitCode
from harness.lists import read_waives

if TYPE_CHECKING:
    from harness.lists import WaiverVerdict

__all__ = ["waives"]

_WAIVES_FILE = "test_lists/waives.txt"


# Editing and counting are imported at their first use, so that a check in a commit hook does not pay for it.
_EDITING = frozenset({"add", "diff", "fmt", "merge", "prune", "remove", "rename", "stats"})


class _WaivesGroup(click.Group):
    """A group that finds its other commands, by their names, in `harness.cli.waives_edit`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_EDITING})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _EDITING:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module("harness.cli.waives_edit"), cmd_name, None)
        return command if isinstance(command, click.Command) else None


@click.group(cls=_WaivesGroup)
def waives() -> None:
    """Explain, check and edit waiver files (waives.txt, waives.yml)."""


@waives.command()
@click.argument("test")
@click.option(
    "--waives-file", default=_WAIVES_FILE, show_default=True, metavar="FILE", help="waives.txt or waives.yml."
)
@click.option(
    "--stage",
    default="",
    metavar="STAGE",
    help="The stage or --test-prefix of the run, e.g. H100_PCIe-PyTorch-1. "
    "A line 'full:<head>/...' holds where the part before the first '-' is exactly <head>; default: nowhere.",
)
def explain(test: str, waives_file: str, stage: str) -> int:
    """Tell which waiver applies to TEST, at which level, why the others do not, and where upstream differs.

    TEST is a node id, or the path of a file or folder.
    """
    from harness.lists import explain_waivers

    file = read_waives(waives_file)
    verdicts = explain_waivers(file, test, stage)
    if not any(verdict.decides for verdict in verdicts):
        say(f"{test}: not waived{f' in stage {stage}' if stage else ''} by {file.file}")
    for verdict in verdicts:
        _print_verdict(verdict)
    print_problems(file.problems, err=True)
    return ExitCode.HOLDS


@waives.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@check_options
@click.option(
    "--lists",
    "list_paths",
    multiple=True,
    metavar="PATH",
    help="Test lists (.yml, folders of them, flat .txt): report waivers of tests that none of them runs.",
)
@click.option("--bug-states", metavar="FILE", help="Export of the tracker, CSV or JSON: number,state,closed on.")
@click.option("--require-owner", is_flag=True, help="Report waivers without 'owner='.")
@click.option("--today", metavar="DATE", help="What 'until=' is compared with. Default: the date of today.")
def check(
    files: tuple[str, ...],
    list_paths: tuple[str, ...],
    bug_states: str | None,
    require_owner: bool,
    today: str | None,
    **common: Any,
) -> int:
    """Check waiver files: syntax, names, reasons, copies, prefixes, dates, order.

    Names are compared with --tests or --source, prefixes with --stages. docs/waivers.md explains every code.
    Exit code 0 without errors and warnings, 1 with some, 2 when a file or option cannot be used.
    """
    from harness.lists.checks import check_waivers, in_order

    options = CheckOptions(**common)
    against = replace(
        options.against(),
        listed=read_entries(list_paths) if list_paths else None,
        bugs=read_bugs(bug_states) if bug_states else None,
        require_owner=require_owner,
        today=given_date(today),
    )
    read = [read_waives(file) for file in dict.fromkeys(files or (_WAIVES_FILE,))]
    findings = [finding for file in read for finding in check_waivers(file, against)]
    return report(in_order(findings), len(read), options)


def _print_verdict(verdict: WaiverVerdict) -> None:
    waiver = verdict.waiver
    say(f"{waiver.place}: {waiver.text}")
    say(f"  {'in' if verdict.level is not None else 'out'}: {verdict.why}")
    for sentence in verdict.upstream:
        say(f"  {sentence}")
