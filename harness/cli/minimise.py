"""`harness minimise`: the shortest scenario that breaks the same invariant."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli._commands import command_words
from harness.cli._launch import check_faults, launch_options, launcher_for
from harness.cli._sources import fetch_named, find_source
from harness.cli._story import lengths, tell
from harness.errors import ExitCode, LaunchError, Place, UsageError
from harness.explore.finding import shortest
from harness.explore.showing import BALLOTS
from harness.files import write_atomically
from harness.launch import Launcher, default_jobs
from harness.oracles import Judgement, screen
from harness.report.text import safe
from harness.scenario import Scenario
from harness.scenario_file import dump_scenario, read_scenario
from harness.trace import Outcome

__all__ = ["minimise"]

_INTERRUPTED = 130  # as a shell says it of a command that ^C ended


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@launch_options
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Hosts side by side; by default one a core, one on a GPU."
)
@click.option("--out", type=click.Path(path_type=Path), help="For the result; by default FILE with .minimal.yml.")
def minimise(
    file: Path,
    target: str,
    source: str,
    fetch: bool,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    jobs: int | None,
    out: Path | None,
) -> None:
    """Write the shortest scenario that breaks what the one in FILE breaks first.

    It is 1-minimal: without any one of its operations, and without what needs that one, the violation is gone.

    Exit code 0: it is written; 2: usage, or FILE breaks nothing; 3: the target cannot be launched, or cannot do
    the scenario; 130: interrupted, and what was shortest by then is written.
    """
    scenario = read_scenario(file)
    out = out or file.with_suffix(".minimal.yml")
    if out.exists():
        raise UsageError("is there already; name another file with --out", Place(str(out)))
    if fetch:
        fetch_named(target, device, [("--source", source)])
    with launcher_for(target, find_source(target, source, repo), device, isolation, jobs) as launcher:
        check_faults(launcher, faults)
        judged = _broken(launcher, scenario, faults, file)
        width = 1 if launcher.isolation == "none" else jobs or default_jobs(device)
        finding = shortest(launcher, judged, faults, width)
        story = tell(launcher, finding.minimal, finding.violation, faults)
    write_atomically(out, dump_scenario(finding.minimal))
    click.echo(f"{safe(finding.signature)}: {lengths(finding)}")
    click.echo(f"{story}\n{' '.join(command_words(['replay', str(out)]))}")
    raise click.exceptions.Exit(ExitCode.HOLDS if finding.whole else _INTERRUPTED)


def _broken(launcher: Launcher, scenario: Scenario, faults: tuple[str, ...], file: Path) -> Judgement:
    """Return what the scenario breaks in one of a few runs: it may do so only now and then."""
    for _, judged in screen(launcher, [scenario] * BALLOTS, faults):
        if judged.trace.outcome is Outcome.UNSUPPORTED:
            raise LaunchError(f"{file}: target {launcher.target} cannot do it: {judged.trace.detail}")
        if judged.violations:
            return judged
    raise UsageError(f"every invariant holds in {BALLOTS} runs; there is nothing to minimise", Place(str(file)))
