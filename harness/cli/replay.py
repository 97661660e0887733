"""`harness replay`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.bundles import Launched, check_folder, write_bundles
from harness.cli._bundles import bundle_option, say_bundles
from harness.cli._commands import command_words
from harness.cli._launch import check_faults, launch_options, launcher_for
from harness.cli._sources import fetch_named, find_source
from harness.codec import dumps
from harness.files import write_atomically
from harness.launch import Launcher
from harness.oracles import ENDS, screen
from harness.pictures import draw
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
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the result as JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with slot map and story.")
@bundle_option
def replay(
    file: Path,
    target: str,
    source: str,
    fetch: bool,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    json_file: Path | None,
    html: Path | None,
    bundle: Path | None,
) -> None:
    """Run the scenario in FILE and judge it by every invariant; where it holds, by every relation, too."""
    scenario = read_scenario(file)
    if bundle:
        check_folder(bundle)
    if fetch:
        fetch_named(target, device, [("--source", source)])
    # One host: a second one costs more to start than the scenario and its relatives take.
    with launcher_for(target, find_source(target, source, repo), device, isolation, jobs=1) as launcher:
        check_faults(launcher, faults)
        ((_, judged),) = screen(launcher, [scenario], faults)
        trace = judged.trace
        violations = [violation for violation in judged.violations if violation.invariant != ENDS]  # told below
        if violations and trace.outcome is Outcome.OK:  # by a relation
            trace.outcome, trace.at = Outcome.VIOLATION, violations[0].operation
        result = _result(file, trace, violations)
        if json_file or html:
            section = _section(file, launcher, result, faults)
            if json_file:
                write_atomically(json_file, dumps({"description": launcher.describe(), **vars(section)}) + "\n")
            if html:
                write_atomically(html, render_page([section]))
        launched = Launched(target, source, repo, device, isolation, faults)
        bundles = write_bundles(bundle, [result], launcher, launched, launcher.describe()) if bundle else []
    for violation in violations:
        click.echo(f"{violation.invariant}: {safe(violation.message)}")
        click.echo(f"  after {_place(scenario, violation)}")
    ended = "" if trace.outcome is Outcome.OK else f" in {trace.where()}"
    detail = f": {safe(trace.detail)}" if trace.detail else ""
    click.echo(f"{file}: {trace.outcome.value}{ended}{detail}")
    say_bundles(bundles)
    raise click.exceptions.Exit(exit_code({trace.outcome}))


def _place(scenario: Scenario, violation: Violation) -> str:
    orders = f"; {violation.orders}" if violation.orders else ""
    if violation.operation >= len(scenario.operations):
        return f"the last operation{orders}"
    return f"operation {violation.operation}, {scenario.operations[violation.operation]}{orders}"


def _result(file: Path, trace: Trace, violations: list[Violation]) -> CaseResult:
    scenario = trace.scenario
    first = "bucket" if isinstance(next(iter(scenario.operations), None), Capture) else "eager"
    case = Case(scenario.config.worker, "replay", first, scenario.capture_order, scenario)
    return CaseResult(
        file.name, case, trace.outcome, trace.where(), trace.detail, trace.device, violations=violations,
        at=trace.at,
    )  # fmt: skip


def _section(file: Path, launcher: Launcher, result: CaseResult, faults: tuple[str, ...]) -> Section:
    return Section(
        str(file), result.case.scenario.name, "", "", "", launcher.target, command_words(["replay", str(file)]),
        {"device": result.device}, results=[result], maps=draw(launcher, [result], faults, healthy=True),
        one_case=True,
    )  # fmt: skip
