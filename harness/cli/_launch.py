"""Options that say what to launch and how, the same for every command that launches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from harness.errors import UsageError
from harness.hosts import interpreter_of
from harness.launch import ISOLATIONS, Launcher
from harness.targets import TARGETS

__all__ = ["check_faults", "fetch_option", "launch_options", "launcher_for"]

F = TypeVar("F", bound=Callable[..., object])

fetch_option = click.option(
    "--fetch", is_flag=True, help="Fetch the versions that are named first, where they are not here yet."
)


def launch_options(command: F) -> F:
    """Add --target, --source, --fetch, --repo, --device, --fault and --isolation."""
    options = (
        click.option("--target", default="embedded", show_default=True, help="Engine under test."),
        click.option(
            "--source",
            default="",
            help="A folder, 'installed', a fetched version, or with --repo a git revision.",
        ),
        fetch_option,
        click.option("--repo", type=click.Path(path_type=Path), help="The git repository that revisions are of."),
        click.option("--device", default="cpu", show_default=True, help="cpu or cuda."),
        click.option("--fault", "faults", multiple=True, metavar="NAME", help="Seed a defect; may be repeated."),
        click.option(
            "--isolation",
            type=click.Choice(ISOLATIONS),
            help="A process a case (fork, the default on a CPU), one for many (reuse), or none, for a debugger.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def launcher_for(
    target: str, source: str, device: str, isolation: str | None = None, jobs: int | None = None
) -> Launcher:
    """Return a launcher for options that a person gave. Raises `UsageError` for what cannot be meant."""
    if target not in TARGETS and ":" not in target:
        raise UsageError(f"--target {target}: unknown; there are {', '.join(TARGETS)}, or package.module:Class")
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise UsageError(f"--device {device}: expected cpu, cuda or cuda:N")
    if isolation == "none" and interpreter_of(source) != sys.executable:
        raise UsageError("--isolation none: a fetched engine has an interpreter of its own; take fork or reuse")
    if kind == "cuda" and isolation == "fork":
        raise UsageError("--isolation fork: a fork cannot use CUDA; leave the option out or take reuse")
    return Launcher(target, device, source=source, isolation=isolation, jobs=jobs)


def check_faults(launcher: Launcher, faults: tuple[str, ...]) -> None:
    """Raise `UsageError` for a fault that the target does not know, naming those it knows."""
    if not faults:
        return
    known = launcher.describe().faults
    for name in faults:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "it has none"
            raise UsageError(f"--fault {name}: target {launcher.target} does not know it; {there}")
