"""`harness waives prune`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli._lists_output import say
from harness.cli._waives_output import show_patch, waives_file_option
from harness.errors import ExitCode, Place, UsageError

if TYPE_CHECKING:
    from harness.lists.edits.pruning import Verdict

__all__ = ["prune"]


@click.command()
@click.option(
    "--results",
    multiple=True,
    metavar="FILE",
    help="JUnit files of runs in which waived tests ran: a file, a folder or a pattern. May be repeated.",
)
@click.argument("more_results", nargs=-1, metavar="[FILE]...")
@click.option("--bug-states", metavar="FILE", help="A CSV or JSON export of bugs: number, state, closed on.")
@click.option(
    "--failure-rate",
    type=float,
    default=0.05,
    show_default=True,
    metavar="P",
    help="How seldom a failure may be that is not to be missed: 0.1 needs 44 clean runs in a row, 0.05 needs "
    "90, 0.01 needs 459.",
)
@click.option("--write", is_flag=True, help="Apply the patch.")
@waives_file_option
def prune(
    results: tuple[str, ...],
    more_results: tuple[str, ...],
    bug_states: str | None,
    failure_rate: float,
    write: bool,
    waives_file: str,
) -> int:
    """Propose removing the waivers that are no longer needed, with the evidence, as a patch.

    A waiver goes when all its tests passed often enough wherever they ran, or when its bug is closed and none
    of them failed; it is narrowed to the stage heads where it is still needed when only some are clean. A
    skipped test, a reused result too, is no evidence. Exit code 0; 2 when a file cannot be read.
    """
    from harness.lists.bugstates import read_bug_states
    from harness.lists.edits import Rewrite, read_document, write_all
    from harness.lists.edits.evidence import clean_runs_needed, gather
    from harness.lists.edits.patch import unified_diff
    from harness.lists.edits.pruning import judge
    from harness.lists.edits.pruning import prune as pruned

    if not results and not bug_states:
        raise UsageError("nothing to judge by; give --results or --bug-states")
    needed = clean_runs_needed(failure_rate)
    document = read_document(waives_file)
    evidence = gather(document.waivers, _files((*results, *more_results)))
    verdicts = judge(document, evidence, needed, read_bug_states(bug_states) if bug_states else None)
    for verdict in verdicts:
        _print_verdict(verdict, needed)
    rest = len(document.waivers) - len(verdicts)
    say(f"{rest} of {len(document.waivers)} waivers: no evidence")
    result = pruned(document, verdicts).reread().data
    show_patch(unified_diff(waives_file, document.source.data, result))
    if write:
        write_all([Rewrite(document.source, result)])
    return ExitCode.HOLDS


def _files(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            found = sorted(map(str, path.rglob("*.xml")))
        elif path.exists() or not any(c in pattern for c in "*?["):
            found = [pattern]
        else:
            from glob import glob  # the shell leaves a quoted pattern alone

            found = sorted(glob(pattern, recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
        if not found:
            raise UsageError("no JUnit file there; give files, folders or patterns", Place(pattern))
        yield from found


def _print_verdict(verdict: Verdict, needed: int) -> None:
    say(f"{verdict.action}: {verdict.waiver.place.file}:{verdict.waiver.place.line}: {verdict.waiver.text}")
    say(f"  {verdict.why}")
    for head, tally in sorted(verdict.tallies.items()):
        passed, failed, skipped = (sum(counts) for counts in zip(*tally.runs.values(), strict=True))
        tests = f" of {len(tally.runs)} tests, fewest {tally.clean}" if len(tally.runs) > 1 else ""
        say(
            f"  {head or 'unnamed stage'}: {passed} passed{tests} ({needed} needed{' each' if tests else ''}), "
            f"{failed} failed, {skipped} skipped"
        )
