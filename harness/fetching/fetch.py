"""Fetching a release, and removing one."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import LaunchError, UsageError
from harness.fetching.checking import Depth, file_hash, manifest_of
from harness.fetching.engines import Release
from harness.fetching.environment import has_triton, lay_environment, refresh_shared
from harness.fetching.folders import RECORD, downloads, engines_folder, locked, release_folder
from harness.fetching.index import Listed, look_up
from harness.fetching.pip import download
from harness.fetching.unpacking import Unpacked, disk_error, unpack, unpacked_folder
from harness.fetching.using import check_release, read_record

__all__ = ["fetch", "remove"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Part:
    """A requirement and what the index says of it; `here` is it unpacked, if an earlier call came that far."""

    requirement: str
    listed: Listed | None
    here: Path | None


def fetch(release: Release, say: Say, depth: Depth = Depth.QUICK) -> Path:
    """Fetch a release, or check the one that is here; return its folder. Raises `LaunchError` in one line.

    The size is said before anything is downloaded. What a call that failed had finished is kept for the next.
    """
    folder = release_folder(release)
    with locked():
        if folder.is_dir():
            check_release(folder, depth)
            say(f"{release}: here already, and as it was fetched")
            return folder
        parts = [_look(requirement) for requirement in _requirements(release)]
        _say_size(release, parts, say)
        kept = {str(release): release.engine.kept}
        wheels = {part.requirement: _bring(part, kept.get(part.requirement, ()), say) for part in parts}
        _finish(release, folder, wheels)
    say(f"{release}: fetched into {folder}")
    return folder


def _requirements(release: Release) -> tuple[str, ...]:
    engine = release.engine
    return (str(release), *engine.beside, *(() if has_triton() else (engine.triton,)))


def _look(requirement: str) -> _Part:
    listed = look_up(requirement)
    if listed is None or not listed.sha256:
        return _Part(requirement, listed, None)
    folder = unpacked_folder(listed.filename, listed.sha256)
    return _Part(requirement, listed, folder if folder.is_dir() and manifest_of(folder).is_file() else None)


def _say_size(release: Release, parts: Iterable[_Part], say: Say) -> None:
    missing = [part for part in parts if part.here is None]
    sizes = [part.listed.size if part.listed else None for part in missing]
    known = sum(size for size in sizes if size is not None)
    told = f"{known / 1e6:.1f} MB" if all(size is not None for size in sizes) else "a size the index does not tell"
    if known and any(size is None for size in sizes):
        told = f"{known / 1e6:.1f} MB and more: the index does not tell all sizes"
    say(f"{release}: {len(missing)} packages to download, {told}, into {engines_folder()}")


def _bring(part: _Part, kept: Sequence[str], say: Say) -> Unpacked:
    if part.here is not None:
        return part.here, file_hash(manifest_of(part.here))
    wheel = _waiting(part)
    if wheel is None:
        size = f" ({part.listed.size / 1e6:.1f} MB)" if part.listed and part.listed.size else ""
        say(f"downloading {part.requirement}{size}")
        try:
            wheel = download(part.requirement, downloads())
        except OSError as error:
            raise disk_error(error, downloads()) from error
    promised = part.listed.sha256 if part.listed and part.listed.filename == wheel.name else ""
    if promised and file_hash(wheel) != promised:
        wheel.unlink()
        raise LaunchError(
            f"{wheel.name}: its hash is not the one that the index promised; it is gone, fetch it again"
        )
    unpacked = unpack(wheel, kept)
    wheel.unlink()
    return unpacked


def _waiting(part: _Part) -> Path | None:
    """Return a wheel that an earlier call downloaded and could not unpack."""
    if part.listed is None or not part.listed.sha256:
        return None
    wheel = downloads() / part.listed.filename
    return wheel if wheel.is_file() and file_hash(wheel) == part.listed.sha256 else None


def _finish(release: Release, folder: Path, wheels: dict[str, Unpacked]) -> None:
    """Put the release's folder together beside its place, and move it there."""
    own, _ = wheels[str(release)]
    for what, path in release.engine.needs.items():
        if not (own / path).is_file():
            _drop_unused()
            raise LaunchError(f"{release} has no {what} worker ({path}), so there is nothing to launch")
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".coming-"))
    try:
        (work / "site").symlink_to(own)
        lay_environment(work, [wheel for wheel, _ in wheels.values()])
        refresh_shared(work)
        record = {
            "release": str(release),
            "python": sys.version.split()[0],
            "wheels": {name: [str(wheel), recorded] for name, (wheel, recorded) in wheels.items()},
        }
        (work / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        work.rename(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def remove(release: Release) -> None:
    """Remove a release, and every wheel that no other one uses. Raises `UsageError` for what is not here."""
    folder = release_folder(release)
    with locked():
        if not folder.is_dir():
            raise UsageError(f"{release} is not fetched for this Python")
        gone = folder.with_name(f".gone-{folder.name}")
        folder.rename(gone)  # from here on nobody finds half of it
        shutil.rmtree(gone)
        _drop_unused()


def _drop_unused() -> None:
    records = engines_folder().glob(f"[!.]*/{RECORD}")
    used = {wheel for record in records for wheel, _ in read_record(record.parent)["wheels"].values()}
    for wheel in (engines_folder() / "wheels").glob("[!.]*"):
        if wheel.is_dir() and str(wheel) not in used:
            shutil.rmtree(wheel)
            manifest_of(wheel).unlink(missing_ok=True)
