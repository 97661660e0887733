"""What was unpacked is recorded file by file, and looked at again before it is used.

A quick look compares sizes and times of change with the manifest, and the manifest's own hash with the record; a
full one hashes every file.
"""

from __future__ import annotations

import enum
import hashlib
import json
from pathlib import Path

from harness.errors import LaunchError

__all__ = ["Depth", "check_unpacked", "file_hash", "manifest_of", "write_manifest"]

_CHUNK = 1 << 20  # bytes


class Depth(enum.Enum):
    """How hard to look: sizes and times, or every byte."""

    QUICK = "quick"
    FULL = "full"


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def manifest_of(folder: Path) -> Path:
    """Return where the manifest of an unpacked wheel lies."""
    return folder.with_name(f"{folder.name}.json")


def write_manifest(folder: Path, manifest: Path) -> str:
    """Record size, time of change and hash of every file in `folder`; return the manifest's own hash."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            status = path.stat()
            entries[str(path.relative_to(folder))] = [status.st_size, status.st_mtime_ns, file_hash(path)]
    manifest.write_text(json.dumps(entries, indent=0), encoding="utf-8")
    return file_hash(manifest)


def check_unpacked(folder: Path, recorded: str, depth: Depth) -> None:
    """Raise `LaunchError`, naming the first file, unless `folder` is as it was unpacked."""
    manifest = manifest_of(folder)
    if not manifest.is_file() or file_hash(manifest) != recorded:
        raise LaunchError(f"{manifest}: the record of what was unpacked is missing or was changed")
    for name, (size, changed, digest) in json.loads(manifest.read_text(encoding="utf-8")).items():
        path = folder / name
        try:
            status = path.stat()
        except OSError:
            raise LaunchError(f"{path}: is missing since it was unpacked") from None
        if (status.st_size, status.st_mtime_ns) != (size, changed):
            raise LaunchError(f"{path}: was changed since it was unpacked")
        if depth is Depth.FULL and file_hash(path) != digest:
            raise LaunchError(f"{path}: its hash differs from what was recorded when it was unpacked")
