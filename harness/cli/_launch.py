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
from harness.targets.sources import resolve_source

__all__ = [
    "check_faults",
    "check_sourced",
    "find_source",
    "launch_options",
    "launcher_for",
    "newest_fetched",
]

F = TypeVar("F", bound=Callable[..., object])

_OWN_CODE = ("embedded",)  # targets that are part of the harness
_FETCHED = ("sglang", "vllm")  # targets whose released versions can be fetched


def launch_options(command: F) -> F:
    """Add --target, --source, --repo, --device, --fault and --isolation."""
    options = (
        click.option("--target", default="embedded", show_default=True, help="Engine under test."),
        click.option(
            "--source",
            default="",
            help="A folder, 'installed', a fetched version, or with --repo a git revision.",
        ),
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


def find_source(target: str, source: str, repo: Path | None = None, option: str = "--source") -> str:
    """Return `source` as a host takes it: with a folder for its place.

    With `repo` it is a revision, except where it is written as a path. Raises `UsageError` for what cannot be
    meant, `LaunchError` for what is not there.
    """
    if source:
        check_sourced(target, f"{option} {source}")
    if repo is not None and not source:
        raise UsageError(f"--repo {repo}: say with {option} which revision of it")
    if target not in TARGETS:
        return source  # a target of the user's own: its source is its own business
    if not source:
        return ""
    place = source.partition("?")[0]
    written_as_path = place == "installed" or place.startswith(("/", "./", "../", "~"))
    if target in _FETCHED and not written_as_path and not Path(place).is_dir():
        from harness.fetching import resolve_fetched  # nobody else pays for it

        return str(resolve_fetched(target, place, option))
    try:
        return resolve_source(target, source, None if written_as_path else repo)
    except UsageError as error:
        raise UsageError(str(error).replace("--source", option, 1)) from None


def newest_fetched(target: str) -> str:
    """Return the newest version of a target that was fetched, "" for a target that is not fetched.

    Raises `UsageError` where none was.
    """
    if target not in _FETCHED:
        return ""
    from packaging.version import Version

    from harness.fetching import fetched_releases  # nobody else pays for these

    there = [release.version for release in fetched_releases() if release.engine.name == target]
    if not there:
        raise UsageError(
            f"--target {target}: no version of it is fetched: harness targets fetch {target}==VERSION"
        )
    return max(there, key=Version)


def check_sourced(target: str, what: str) -> None:
    """Raise `UsageError` about `what` was given where the target's code is part of the harness."""
    if target in _OWN_CODE:
        raise UsageError(f"{what}: target {target} is part of the harness and has no other source")


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
