"""`harness replay`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli._launch import check_faults, find_source, launch_options, launcher_for
from harness.invariants import Monitor
from harness.launch import Run
from harness.report.text import safe
from harness.scenario_file import read_scenario
from harness.trace import Outcome
from harness.verdicts import exit_code

__all__ = ["replay"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@launch_options
def replay(
    file: Path,
    target: str,
    source: str,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
) -> None:
    """Run the scenario in FILE and judge it by every invariant."""
    scenario = read_scenario(file)
    with launcher_for(target, find_source(target, source, repo), device, isolation) as launcher:
        check_faults(launcher, faults)
        monitor = Monitor(scenario)
        trace = launcher.run(Run(scenario, monitor, faults))
    for violation in (*trace.violations, *monitor.ended(trace)):
        operation = scenario.operations[violation.operation]
        click.echo(f"{violation.invariant}: {safe(violation.message)}")
        click.echo(f"  after operation {violation.operation}, {operation}; {violation.orders}")
    ended = "" if trace.outcome is Outcome.OK else f" in {trace.where()}"
    detail = f": {safe(trace.detail)}" if trace.detail else ""
    click.echo(f"{file}: {trace.outcome.value}{ended}{detail}")
    raise click.exceptions.Exit(exit_code({trace.outcome}))
