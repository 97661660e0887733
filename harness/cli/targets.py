"""`harness targets`: what can be launched here."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli._launch import find_source, launcher_for
from harness.errors import HarnessError, UsageError
from harness.launch import Launcher
from harness.protocol import Description
from harness.targets import TARGETS

__all__ = ["targets"]


@click.command()
@click.option("--target", default="", help="Only this one; with --source, what is at that place.")
@click.option("--source", default="", help="A folder, 'installed', or with --repo a git revision.")
@click.option("--repo", type=click.Path(path_type=Path), help="The git repository that a revision is of.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
def targets(target: str, source: str, repo: Path | None, device: str) -> None:
    """Say what each target is, what it can do and which of its code is real.

    With --target one that cannot be launched ends with exit code 3.
    """
    if target:
        with launcher_for(target, find_source(target, source, repo), device, jobs=1) as launcher:
            lines = _lines(launcher.describe())
        click.echo("\n".join([target, *(f"  {line}" for line in lines)]))
        return
    if source or repo:
        raise UsageError("--source: say with --target whose it is")
    for name in TARGETS:
        try:
            with Launcher(name, device, jobs=1) as launcher:
                lines = _lines(launcher.describe())
        except HarnessError as error:
            lines = [f"cannot be launched: {error}"]
        click.echo(f"{name}")
        for line in lines:
            click.echo(f"  {line}")


def _lines(description: Description) -> list[str]:
    facts = {
        "version": description.version,
        "devices": ", ".join(description.devices),
        "workers": ", ".join(description.workers),
        "operations": ", ".join(description.operations),
        "dummy": description.dummy,
        "releases": f"a slot {description.releases}",
        "absent": "keeps its slot" if description.keeps_absent else "loses its slot",
        "its own": ", ".join(description.own),
        "stand-ins": ", ".join(description.stand_ins) or "none",
    }
    lines = [f"{name:<10} {value}" for name, value in facts.items()]
    return lines + [f"fault      {name}: {summary}" for name, summary in description.faults.items()]
