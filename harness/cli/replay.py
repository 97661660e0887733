"""`harness replay`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli._commands import command_words
from harness.cli._launch import check_faults, find_source, launch_options, launcher_for
from harness.cli._pictures import draw
from harness.files import write_atomically
from harness.launch import Launcher
from harness.oracles import ENDS, screen
from harness.report.page import render_page
from harness.report.section import Section
from harness.report.text import safe
from harness.scenario import Capture, Scenario
from harness.scenario_file import read_scenario
from harness.trace import Outcome, Trace, Violation
from harness.verdicts import Case, CaseResult, exit_code

__all__ = ["replay"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@launch_options
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with slot map and story.")
def replay(
    file: Path,
    target: str,
    source: str,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    html: Path | None,
) -> None:
    """Run the scenario in FILE and judge it by every invariant; where it holds, by every relation, too."""
    scenario = read_scenario(file)
    with launcher_for(target, find_source(target, source, repo), device, isolation) as launcher:
        check_faults(launcher, faults)
        ((_, judged),) = screen(launcher, [scenario], faults)
        trace = judged.trace
        violations = [violation for violation in judged.violations if violation.invariant != ENDS]  # told below
        if violations and trace.outcome is Outcome.OK:  # by a relation
            trace.outcome, trace.at = Outcome.VIOLATION, violations[0].operation
        if html:
            _write_page(html, file, launcher, trace, violations, faults)
    for violation in violations:
        click.echo(f"{violation.invariant}: {safe(violation.message)}")
        click.echo(f"  after {_place(scenario, violation)}")
    ended = "" if trace.outcome is Outcome.OK else f" in {trace.where()}"
    detail = f": {safe(trace.detail)}" if trace.detail else ""
    click.echo(f"{file}: {trace.outcome.value}{ended}{detail}")
    raise click.exceptions.Exit(exit_code({trace.outcome}))


def _place(scenario: Scenario, violation: Violation) -> str:
    orders = f"; {violation.orders}" if violation.orders else ""
    if violation.operation >= len(scenario.operations):
        return f"the last operation{orders}"
    return f"operation {violation.operation}, {scenario.operations[violation.operation]}{orders}"


def _write_page(
    html: Path, file: Path, launcher: Launcher, trace: Trace, violations: list[Violation], faults: tuple[str, ...]
) -> None:
    scenario = trace.scenario
    order = scenario.capture_order
    first = "bucket" if isinstance(scenario.operations[0], Capture) else "eager"
    case = Case(scenario.config.worker, "replay", first, order, scenario)
    result = CaseResult(
        str(file), case, trace.outcome, trace.where(), trace.detail, trace.device, violations=violations,
        at=trace.at,
    )  # fmt: skip
    section = Section(
        str(file), scenario.name, "", "", "", launcher.target, command_words(["replay", str(file)]),
        {"device": trace.device}, results=[result], maps=draw(launcher, [result], faults, healthy=True),
        one_case=True,
    )  # fmt: skip
    write_atomically(html, render_page([section]))
