"""`harness waives`: explain and check waiver files."""

from __future__ import annotations

import click

from harness.cli._lists_output import print_problems, say
from harness.errors import ExitCode
from harness.lists import WaiverVerdict, explain_waivers, read_waives

__all__ = ["waives"]

_WAIVES_FILE = "test_lists/waives.txt"


@click.group()
def waives() -> None:
    """Read and explain waiver files (waives.txt, waives.yml)."""


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
def check(files: tuple[str, ...]) -> int:
    """Print what is wrong in waiver files.

    Exit code 0 when nothing is, 1 with findings, 2 when a file cannot be read.
    """
    problems = [problem for file in files or (_WAIVES_FILE,) for problem in read_waives(file).problems]
    return ExitCode.VIOLATION if print_problems(problems) else ExitCode.HOLDS


def _print_verdict(verdict: WaiverVerdict) -> None:
    waiver = verdict.waiver
    say(f"{waiver.place}: {waiver.text}")
    say(f"  {'in' if verdict.level is not None else 'out'}: {verdict.why}")
    for sentence in verdict.upstream:
        say(f"  {sentence}")
