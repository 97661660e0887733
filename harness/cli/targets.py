"""`harness targets`: what can be launched here, and fetching what is not here yet."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli._launch import fetch_option, launcher_for
from harness.cli._sources import fetch_named, find_source
from harness.errors import HarnessError, LaunchError, UsageError
from harness.fetching import ENGINES, Depth, fetch, fetched_releases, parse_release, remove
from harness.launch import Launcher
from harness.oracles import undeclared
from harness.protocol import Description
from harness.targets import TARGETS

__all__ = ["targets"]


@click.group(invoke_without_command=True)
@click.option("--target", default="", help="Only this one; with --source, what is at that place.")
@click.option(
    "--source", default="", help="A folder, 'installed', a fetched version, or with --repo a git revision."
)
@fetch_option
@click.option("--repo", type=click.Path(path_type=Path), help="The git repository that a revision is of.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.pass_context
def targets(context: click.Context, target: str, source: str, fetch: bool, repo: Path | None, device: str) -> None:
    """Say what each target is, what it can do and which of its code is real.

    With --target one that cannot be launched ends with exit code 3.
    """
    if context.invoked_subcommand is not None:
        return
    if target:
        if fetch:
            fetch_named(target, device, [("--source", source)])
        with launcher_for(target, find_source(target, source, repo), device, jobs=1) as launcher:
            lines = [*_lines(launcher.describe()), *_silent(launcher)]
        click.echo("\n".join([target, *(f"  {line}" for line in lines)]))
        return
    if source or fetch or repo:
        raise UsageError("--source: say with --target whose it is")
    for name in TARGETS:
        try:
            with Launcher(name, device, jobs=1) as launcher:
                lines = _lines(launcher.describe())
        except HarnessError as error:
            lines = [f"cannot be launched: {error}"]
        click.echo(f"{name}")
        for line in [*lines, *_fetched(name)]:
            click.echo(f"  {line}")


@targets.command("fetch")
@click.argument("release", metavar="NAME==VERSION")
@click.option("--full", is_flag=True, help="If it is here already, look at every byte of it.")
def fetch_command(release: str, full: bool) -> None:
    """Fetch a released engine into the user's cache; --source VERSION then launches it, without a network.

    Its size is said first. What a call that was cut short had finished is not downloaded again. Exit code 2: there
    is no such release; 3: it cannot be had or launched here (network, disk, hash, Python, no DSpark worker).
    """
    fetch(parse_release(release), click.echo, Depth.FULL if full else Depth.QUICK)


@targets.command("remove")
@click.argument("release", metavar="NAME==VERSION")
def remove_command(release: str) -> None:
    """Remove a fetched engine, and what no other fetched one needs."""
    remove(parse_release(release))


def _fetched(name: str) -> list[str]:
    if name not in ENGINES:
        return []
    versions = [release.version for release in fetched_releases() if release.engine.name == name]
    return [f"{'fetched':<10} {', '.join(versions) or f'none: harness targets fetch {name}==VERSION'}"]


def _silent(launcher: Launcher) -> list[str]:
    """Say which invariants cannot speak of the target, and why; nothing where it cannot be launched."""
    try:
        missing = undeclared(launcher)
    except LaunchError:
        return []
    return [f"{'silent':<10} {name}, for it does not show {what}" for name, what in missing.items()]


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
