"""A wheel becomes a folder: beside its place first, then moved there whole."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from harness.errors import LaunchError
from harness.fetching.checking import file_hash, manifest_of, write_manifest
from harness.fetching.folders import engines_folder

__all__ = ["Unpacked", "disk_error", "unpack", "unpacked_folder"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
# Parts of a wheel's data folder that belong beside its packages.
_LIBRARIES = ("purelib", "platlib")

Unpacked = tuple[Path, str]  # the folder, and the hash of its manifest


def unpacked_folder(filename: str, sha256: str) -> Path:
    """Return where a wheel of this name and hash is unpacked."""
    name, version, *_ = filename.split("-")
    return engines_folder() / "wheels" / f"{name}-{version}-{sha256[:12]}"


def unpack(wheel: Path, kept: Sequence[str] = ()) -> Unpacked:
    """Unpack a wheel, or return what an earlier call unpacked. Raises `LaunchError` in one line.

    `kept` are patterns of the files that are wanted of it, none for all.
    """
    folder = unpacked_folder(wheel.name, file_hash(wheel))
    if folder.is_dir() and manifest_of(folder).is_file():
        return folder, file_hash(manifest_of(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        _extract(wheel, work / "files", kept)
        recorded = write_manifest(work / "files", work / "manifest.json")
        (work / "manifest.json").replace(manifest_of(folder))
        if folder.exists():  # of an unpacking that was cut short between two moves
            shutil.rmtree(folder)
        (work / "files").rename(folder)
    except OSError as error:
        raise disk_error(error, folder.parent) from error
    except zipfile.BadZipFile:
        wheel.unlink(missing_ok=True)
        raise LaunchError(f"{wheel.name} is no whole wheel; it is gone, fetch it again") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder, recorded


def disk_error(error: OSError, place: Path) -> LaunchError:
    """Return what to tell of an error of the disk."""
    if error.errno in _FULL:
        return LaunchError(
            f"the disk is full: {place} takes no more; what was downloaded stays, nothing half is used"
        )
    return LaunchError(f"{error.filename or place}: {error.strerror or error}")


def _extract(wheel: Path, folder: Path, kept: Sequence[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = _place(member.filename)
            if member.is_dir() or name is None or (kept and not any(fnmatch(name, each) for each in kept)):
                continue
            path = folder / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise LaunchError(f"{wheel.name}: {member.filename} would lie outside of it")
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            if member.external_attr >> 16 & 0o111:
                os.chmod(path, 0o755)  # noqa: S103, PTH101  # a program stays one


def _place(name: str) -> str | None:
    """Return where a member goes: packages as they are, libraries out of the data folder, scripts nowhere."""
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return name
    kind, _, inner = rest.partition("/")
    return inner if kind in _LIBRARIES and inner else None
