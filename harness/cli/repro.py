"""`harness repro` and `harness bugs`."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import click

from harness.bundles import Launched, check_folder
from harness.catalogue import find_bug, load_catalogue
from harness.cli._bundles import bundle_option, say_bundles
from harness.cli._cases import CaseOptions, Plan, case_options, plan_cases
from harness.cli._launch import launch_options
from harness.cli._sections import section_of
from harness.cli._sides import Ran, run_side
from harness.cli._sources import fetch_named, find_source
from harness.codec import dumps
from harness.errors import UsageError
from harness.files import write_atomically
from harness.report import render_markdown, render_results
from harness.report.compare import Side, compare_cells, render_comparison, render_comparison_markdown
from harness.report.heading import heading_facts, render_heading, render_title
from harness.report.page import render_page
from harness.report.text import safe
from harness.verdicts import exit_code

__all__ = ["bugs", "repro"]

_NAME = 18  # columns for a bug's name in the list: most need no more


@click.command()
@click.argument("bug")
@launch_options
@click.option("--against", default="", help="A second source: run both and compare, before and after.")
@case_options
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all results as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables as Markdown.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with matrix, slot map and story.")
@bundle_option
@click.option("--bisect", is_flag=True, help="Exit codes for `git bisect run`: 3 and 4 become 125, 2 becomes 128.")
@click.option("--verbose", is_flag=True, help="Show tracebacks and what hosts printed, too.")
def repro(
    bug: str,
    target: str,
    source: str,
    fetch: bool,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    against: str,
    worker: str | None,
    orders: str | None,
    regime: str | None,
    first: str | None,
    config: Path | None,
    json_file: Path | None,
    markdown: Path | None,
    html: Path | None,
    bundle: Path | None,
    bisect: bool,
    verbose: bool,
) -> None:
    """Run the reproducer of BUG: 6535874, nvbugs/6535874, #17154 or a URL.

    Exit code 0: every invariant holds; 1: a violation, error, crash or hang; 2: usage; 3: the target cannot be
    launched; 4: the harness itself failed. With --against it is that of the second source.
    """
    del bisect, verbose  # the command line's own entry reads both: they are about errors too
    plan = plan_cases(find_bug(bug), CaseOptions(worker, orders, regime, first, config))
    # Both are looked up before the first is run; a typo in the second one costs nothing then.
    if against and html:
        raise UsageError("--html: a page shows one source; write one of each, without --against")
    if against and bundle:
        raise UsageError("--bundle: a bundle is of one source; write those of each, without --against")
    names = [("--source", source)] + ([("--against", against)] if against else [])
    if target == "tensorrt_llm" and not source:
        raise UsageError(f"--target {target}: say with --source where its code is")
    if bundle:
        check_folder(bundle)
    if fetch:
        fetch_named(target, device, names)
    for option, name in names:
        find_source(target, name, repo, option)
    ran = []
    for option, name in names:
        found = find_source(target, name, repo, option)
        launched = Launched(target, name, repo, device, isolation, faults)
        ran.append(run_side(plan, launched, found, drawn=not against, healthy=html is not None, bundle=bundle))
    click.echo(render_title(plan.entry.bug, plan.entry.title))
    for note in plan.notes:
        click.echo(safe(note))
    if against:
        _show_both(plan, ran, json_file, markdown)
    else:
        _show_one(plan, ran[0], json_file, markdown, html)
        say_bundles(ran[0].bundles)
    raise click.exceptions.Exit(exit_code(ran[-1].outcomes))


@click.command()
@click.argument("bug", required=False)
def bugs(bug: str | None) -> None:
    """List the catalogue, or tell about one BUG."""
    if bug is None:
        for entry in load_catalogue():
            name = entry.bug
            if len(name) > _NAME:  # a line of its own, so that the titles of all others have room
                click.echo(name)
                name = ""
            click.echo(_beside(f"{name:<{_NAME}} {entry.kind} ", _NAME + 5, entry.title))
        return
    entry = find_bug(bug)
    told = {**vars(entry), "also": ", ".join(entry.also)}
    for name in ("bug", "also", "title", "url", "kind", "state", "mechanism", "fault"):
        if told[name]:
            click.echo(_beside(name, 10, told[name]))


def _beside(name: str, width: int, text: str) -> str:
    """Return `name` in a column and `text` beside it, in eighty columns."""
    first, *others = textwrap.wrap(text, 79 - width, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{name:<{width}} {first}", *(f"{'':<{width}} {line}" for line in others)])


def _show_one(plan: Plan, only: Ran, json_file: Path | None, markdown: Path | None, html: Path | None) -> None:
    click.echo(render_heading(_facts(only)))
    drawn = next((one for one in only.maps if one.word != "ok"), None)
    click.echo(render_results(only.results, plan.entry.mechanism, _paint, drawn), nl=False)
    _print_logs(only)
    if json_file or html:
        section = section_of(plan, only, _facts(only))
        if json_file:
            write_atomically(json_file, dumps({"description": only.description, **vars(section)}) + "\n")
        if html:
            write_atomically(html, render_page([section]))
    if markdown:
        title = f"{plan.entry.bug} on {only.launched.target}"
        facts = [f"{name}: {text}" for name, text in _facts(only).items()]
        write_atomically(markdown, render_markdown(only.results, title, facts, drawn))


def _show_both(plan: Plan, ran: list[Ran], json_file: Path | None, markdown: Path | None) -> None:
    before, after = (Side(one.launched.source, one.version, one.results) for one in ran)
    click.echo(render_heading(_facts(ran[1])))
    click.echo(render_comparison(before, after, _paint), nl=False)
    for one in ran:
        _print_logs(one)
    if json_file:
        sides = [
            {"description": one.description, **vars(side)} for one, side in zip(ran, (before, after), strict=True)
        ]
        cells = [[*key, *cell] for key, cell in compare_cells(before, after).items()]
        facts = {"before": sides[0], "after": sides[1], "notes": plan.notes, "cells": cells}
        write_atomically(json_file, dumps(facts) + "\n")
    if markdown:
        write_atomically(
            markdown, render_comparison_markdown(before, after, f"{plan.entry.bug}: {plan.entry.title}")
        )


def _facts(ran: Ran) -> dict[str, str]:
    launched = ran.launched
    seeded = f", with the seeded fault {', '.join(launched.faults)}" if launched.faults else ""
    described = heading_facts(ran.description, ran.found, ran.results) if ran.description else {}
    return {"target": f"{launched.target}{seeded}", **described}


def _print_logs(ran: Ran) -> None:
    if click.get_current_context().params["verbose"]:
        for log in dict.fromkeys(result.log for result in ran.results if result.log):
            click.echo(safe(log), err=True)


def _paint(text: str, colour: str) -> str:
    # click drops the codes where standard output is no terminal.
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)
