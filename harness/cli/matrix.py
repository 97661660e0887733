"""`harness matrix`: seeded faults against oracles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from harness.catalogue import load_catalogue, load_reproducer
from harness.cli._launch import check_faults, fetch_option, launcher_for
from harness.cli._sources import fetch_named, find_source, newest_fetched
from harness.codec import dumps
from harness.errors import ExitCode, UsageError
from harness.explore import caught_by_one_alone, planted_for, run_matrix, scenarios_for
from harness.explore.tables import check_page, insert_table, render_ablation, render_markdown, render_matrix
from harness.explore.versions import render_versions, version_matrix
from harness.files import write_atomically
from harness.oracles import ORACLES

__all__ = ["matrix"]


@click.command()
@click.option("--target", default="embedded", show_default=True, help="Engine under test.")
@click.option("--source", default="", help="V1,V2: every bug's reproducer on these versions, or with --fault V.")
@fetch_option
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--fault", "faults", multiple=True, metavar="NAME", help="Only this one, or all; may be repeated.")
@click.option("--without", multiple=True, metavar="ORACLE", help="Leave an oracle out; may be repeated.")
@click.option("--ablate", is_flag=True, help="Show for every oracle the faults that only it catches.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all rows as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table into this page.")
def matrix(
    target: str,
    source: str,
    fetch: bool,
    device: str,
    faults: tuple[str, ...],
    without: tuple[str, ...],
    ablate: bool,
    json_file: Path | None,
    markdown: Path | None,
) -> None:
    """Run every seeded fault, and the engine without one, through its trigger scenarios under every oracle.

    With --source it is the catalogue's bugs on released versions instead, and 0 means that all of them hold; with
    --fault too, that version's planted faults. A fetched engine without --source: those of the newest version.

    Exit code 0: every fault is caught and the healthy engine holds; 1: not so, or with --ablate an oracle that no
    fault needs; 2: usage; 3: the target cannot be launched; 4: the harness itself failed.
    """
    compared = bool(source) and not faults
    _check(compared and bool(without or ablate or markdown), without, markdown)
    if faults and "," in source and not Path(source).is_dir():
        raise UsageError(f"--source {source}: planted faults are judged on one version: name one, or drop --fault")
    names = source.split(",") if compared else [source]
    if fetch:
        fetch_named(target, device, [("--source", name) for name in names])
    if compared:
        _show_versions(target, names, device, json_file)
    version = source or newest_fetched(target)
    if version:
        click.echo(f"{target} {version}")
    wanted = () if "all" in faults else faults
    with launcher_for(target, find_source(target, version), device) as launcher:
        check_faults(launcher, wanted)
        rows = run_matrix(launcher, wanted, without, planted_for if version else scenarios_for)
    click.echo(render_matrix(rows), nl=False)
    holds = all(row.holds for row in rows)
    if ablate:
        lost = caught_by_one_alone(rows, [name for name in ORACLES if name not in without])
        click.echo("\n" + render_ablation(lost), nl=False)
        holds = holds and all(lost.values())
    if json_file:
        write_atomically(json_file, dumps({"target": target, "device": device, "rows": rows}) + "\n")
    if markdown:
        insert_table(markdown, render_markdown(rows))
    raise click.exceptions.Exit(ExitCode.HOLDS if holds else ExitCode.VIOLATION)


def _check(beside_versions: bool, without: tuple[str, ...], markdown: Path | None) -> None:
    """Raise `UsageError` for what cannot be meant, before a minute is spent on it."""
    if beside_versions:
        raise UsageError("--source: compares versions; to judge the planted faults of one, say --fault too")
    for name in without:
        if name not in ORACLES:
            raise UsageError(f"--without {name}: no such oracle; there are {', '.join(ORACLES)}")
    if markdown:
        check_page(markdown)


def _show_versions(target: str, names: Sequence[str], device: str, json_file: Path | None) -> NoReturn:
    found = {name: find_source(target, name) for name in names}
    starts = {name: partial(launcher_for, target, place, device) for name, place in found.items()}
    cells = list(version_matrix([load_reproducer(entry) for entry in load_catalogue()], starts))
    click.echo(render_versions(cells), nl=False)
    if json_file:
        write_atomically(json_file, dumps({"target": target, "device": device, "cells": cells}) + "\n")
    raise click.exceptions.Exit(ExitCode.HOLDS if all(cell.holds for cell in cells) else ExitCode.VIOLATION)
