"""`harness repro`, `harness bugs` and `harness replay`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness.catalogue import CatalogueEntry, find_bug, load_catalogue, load_reproducer
from harness.cli._launch import check_faults, launch_options, launcher_for
from harness.codec import dumps
from harness.errors import ExitCode, LaunchError, UsageError
from harness.files import write_atomically
from harness.invariants import Monitor
from harness.launch import Run
from harness.orders import DEFAULT_BUCKETS, parse_orders
from harness.report import render_markdown, render_results
from harness.report.terminal import safe
from harness.reproduce import Parameters, reproduce
from harness.scenario import WORKERS
from harness.scenario_file import read_scenario
from harness.trace import Outcome
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["bugs", "replay", "repro"]

@click.command()
@click.argument("bug")
@launch_options
@click.option("--worker", type=click.Choice(WORKERS), help="Only this worker.")
@click.option("--orders", default="all", show_default=True, help="all, sample:N, or one order such as 4,2,1.")
@click.option("--regime", help="Only this regime, such as exact or production.")
@click.option("--first", type=click.Choice(list(FIRST_DRAFTERS)), help="Only with this first drafter.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all results as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables as Markdown.")
def repro(
    bug: str,
    target: str,
    source: str,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    worker: str | None,
    orders: str,
    regime: str | None,
    first: str | None,
    json_file: Path | None,
    markdown: Path | None,
) -> None:
    """Run the reproducer of BUG: 6535874, nvbugs/6535874, #17154 or a URL."""
    entry = find_bug(bug)
    parameters = Parameters(
        (worker,) if worker else WORKERS,
        (regime,) if regime else None,
        (first,) if first else tuple(FIRST_DRAFTERS),
        parse_orders(orders, DEFAULT_BUCKETS),
    )
    reproducer = load_reproducer(entry)
    if regime and regime not in reproducer.regimes:
        raise UsageError(f"--regime {regime}: {entry.bug} has {', '.join(reproducer.regimes)}")
    with launcher_for(target, source, device, isolation) as launcher:
        check_faults(launcher, faults)
        results = reproduce(reproducer, parameters, launcher, faults)
    if all(result.outcome is Outcome.UNSUPPORTED for result in results):
        raise LaunchError(f"target {target} cannot run {entry.bug}: {results[0].detail}")
    click.echo(_heading(entry, target, faults))
    click.echo(render_results(results, entry.mechanism, _paint), nl=False)
    if json_file:
        write_atomically(json_file, dumps({"results": results}) + "\n")
    if markdown:
        write_atomically(markdown, render_markdown(results, f"{entry.bug} on {target}"))
    raise click.exceptions.Exit(_code(results))


@click.command()
@click.argument("bug", required=False)
def bugs(bug: str | None) -> None:
    """List the catalogue, or tell about one BUG."""
    if bug is None:
        for entry in load_catalogue():
            click.echo(f"{entry.bug:<16} {entry.kind}  {entry.title}")
        return
    entry = find_bug(bug)
    for name in ("bug", "title", "url", "kind", "state", "mechanism", "fault"):
        click.echo(f"{name:<10} {getattr(entry, name)}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@launch_options
def replay(
    file: Path, target: str, source: str, device: str, faults: tuple[str, ...], isolation: str | None
) -> None:
    """Run the scenario in FILE and judge it by every invariant."""
    scenario = read_scenario(file)
    with launcher_for(target, source, device, isolation) as launcher:
        check_faults(launcher, faults)
        trace = launcher.run(Run(scenario, Monitor(scenario), faults))
    for violation in trace.violations:
        operation = scenario.operations[violation.operation]
        click.echo(f"{violation.invariant}: {safe(violation.message)}")
        click.echo(f"  after operation {violation.operation}, {operation}; {violation.orders}")
    ended = "" if trace.outcome is Outcome.OK else f" in {trace.where()}"
    detail = f": {safe(trace.detail)}" if trace.detail else ""
    click.echo(f"{file}: {trace.outcome.value}{ended}{detail}")
    raise click.exceptions.Exit(_exit_code({trace.outcome}))


def _heading(entry: CatalogueEntry, target: str, faults: tuple[str, ...]) -> str:
    seeded = f", with the seeded fault {', '.join(faults)}" if faults else ""
    return f"{entry.bug}: {entry.title}\ntarget {target}{seeded}\n"


def _paint(text: str, colour: str) -> str:
    # click drops the codes where standard output is no terminal.
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def _code(results: list[CaseResult]) -> int:
    return _exit_code({result.outcome for result in results})


def _exit_code(outcomes: set[Outcome]) -> int:
    if outcomes - {Outcome.OK, Outcome.UNSUPPORTED}:
        return ExitCode.VIOLATION
    return ExitCode.HOLDS if Outcome.OK in outcomes else ExitCode.UNSUPPORTED
