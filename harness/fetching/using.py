"""A fetched release as a source: found by its version, looked at, given this environment's torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import LaunchError, UsageError
from harness.fetching.checking import Depth, check_unpacked
from harness.fetching.engines import ENGINES, Release
from harness.fetching.environment import refresh_shared
from harness.fetching.folders import RECORD, fetched_releases, release_folder

__all__ = ["check_release", "read_record", "resolve_fetched"]


def resolve_fetched(target: str, version: str, option: str = "--source") -> Path:
    """Return the folder of a fetched version, checked. Raises `LaunchError` where it is not as it was fetched."""
    release = Release(ENGINES[target], version)
    folder = release_folder(release)
    if not folder.is_dir():
        there = [other.version for other in fetched_releases() if other.engine.name == target]
        known = f"; fetched are {', '.join(there)}" if there else ""
        raise UsageError(
            f"{option} {version}: neither a folder nor a fetched version{known}: harness targets fetch {release}, "
            "or say --fetch, too"
        )
    check_release(folder, Depth.QUICK)
    refresh_shared(folder)
    return folder


def check_release(folder: Path, depth: Depth) -> None:
    """Raise `LaunchError` unless every file of a release is as it was fetched."""
    record = read_record(folder)
    try:
        for wheel, recorded in record["wheels"].values():
            check_unpacked(Path(wheel), recorded, depth)
    except LaunchError as error:
        again = record["release"]
        raise LaunchError(f"{error}; harness targets remove {again}, then harness targets fetch {again}") from None


def read_record(folder: Path) -> dict[str, Any]:
    """Return what is recorded of a release."""
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise LaunchError(f"{folder / RECORD}: cannot be read; remove {folder} and fetch again") from None
    return record
