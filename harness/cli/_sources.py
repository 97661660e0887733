"""Where the code is that a person named: a folder, a revision, a fetched version, or one to be fetched first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli._launch import launcher_for
from harness.errors import UsageError
from harness.targets import TARGETS
from harness.targets.sources import resolve_source

if TYPE_CHECKING:
    from harness.fetching import Release

__all__ = ["check_sourced", "fetch_named", "find_source", "newest_fetched"]

_OWN_CODE = ("embedded",)  # targets that are part of the harness
_FETCHED = ("sglang", "vllm")  # targets whose released versions can be fetched


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
    written_as_path = _written_as_path(place)
    if target in _FETCHED and _is_version(place):
        from harness.fetching import resolve_fetched  # nobody else pays for it

        return str(resolve_fetched(target, place, option))
    try:
        return resolve_source(target, source, None if written_as_path else repo)
    except UsageError as error:
        raise UsageError(str(error).replace("--source", option, 1)) from None


def fetch_named(target: str, device: str, named: Sequence[tuple[str, str]]) -> None:
    """Fetch the versions among `named` that are not here yet: pairs of an option and the source it was given.

    What is fetched, and its size, is said on standard error: standard output is for what a command shows. One that
    is here is left as it is, and needs no network. Raises `UsageError` where there is no version among them.
    """
    launcher_for(target, "", device)  # whether the options can be meant: it costs nothing, a download may
    if target not in _FETCHED:
        raise UsageError(
            f"--fetch: target {target} has no releases to fetch; there are those of {', '.join(_FETCHED)}"
        )
    sources = [(option, source.partition("?")[0]) for option, source in named if source]
    versions = [(option, place) for option, place in sources if _is_version(place)]
    if not versions:
        given = f"{' '.join(sources[0])} names no version" if sources else "no version is named"
        raise UsageError(f"--fetch: {given}; say --source VERSION")
    from harness.fetching import fetch, fetched_releases  # nobody else pays for these

    releases = [_release(target, *version) for version in versions]
    there = fetched_releases()
    for release in releases:
        if release not in there:
            fetch(release, partial(click.echo, err=True))


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
            f"--target {target}: no version of it is fetched: harness targets fetch {target}==VERSION, "
            "or say --source VERSION --fault all --fetch"
        )
    return max(there, key=Version)


def check_sourced(target: str, what: str) -> None:
    """Raise `UsageError` about `what` was given where the target's code is part of the harness."""
    if target in _OWN_CODE:
        raise UsageError(f"{what}: target {target} is part of the harness and has no other source")


def _written_as_path(place: str) -> bool:
    return place == "installed" or place.startswith(("/", "./", "../", "~"))


def _is_version(place: str) -> bool:
    """Say whether a source of a target that is fetched means a released version, here or not."""
    return bool(place) and not _written_as_path(place) and not Path(place).is_dir()


def _release(target: str, option: str, place: str) -> Release:
    from harness.fetching import parse_release

    try:
        return parse_release(f"{target}=={place}")
    except UsageError:
        raise UsageError(f"--fetch: {option} {place}: neither a folder nor a version such as 1.2.3") from None
