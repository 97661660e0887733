"""What the package index says about a distribution: its files, their sizes and hashes, which Python they want.

The index is pip's own, whatever it is set to. One that does not answer, or not in this format, tells nothing: the
download goes on without knowing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from harness.errors import LaunchError, UsageError

__all__ = ["Listed", "look_up"]

_JSON = "application/vnd.pypi.simple.v1+json"
_PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Listed:
    """A wheel as the index lists it. `size` is in bytes, `sha256` "" where it is not told."""

    filename: str
    size: int | None
    sha256: str


def look_up(requirement: str) -> Listed | None:
    """Return the wheel that pip will take for a pinned requirement; None where the index does not tell.

    Raises `UsageError` for a version that there is not, `LaunchError` where no wheel of it is for this Python.
    """
    wanted = Requirement(requirement)
    files = _files(canonicalize_name(wanted.name))
    if files is None:
        return None
    wheels = [(file, tags) for file in files if (tags := _wheel_tags(file, wanted)) is not None]
    if not wheels:
        raise UsageError(f"{requirement}: the package index has no such version, or no wheel of it")
    order = {tag: place for place, tag in enumerate(sys_tags())}
    fitting = [
        (min(order[tag] for tag in tags if tag in order), file)
        for file, tags in wheels
        if tags & order.keys() and _suits(file)
    ]
    if not fitting:
        wants = sorted({str(file.get("requires-python") or "") for file, _ in wheels} - {""})
        here = ".".join(map(str, sys.version_info[:2]))
        raise LaunchError(
            f"{requirement} has no wheel for Python {here} on this machine"
            + (f"; it wants Python {', '.join(wants)}" if wants else "")
        )
    _, best = min(fitting, key=lambda pair: pair[0])
    return Listed(best["filename"], best.get("size"), best.get("hashes", {}).get("sha256", ""))


def _wheel_tags(file: dict[str, Any], wanted: Requirement) -> frozenset[Tag] | None:
    try:
        _, version, _, tags = parse_wheel_filename(str(file["filename"]))
    except (InvalidWheelFilename, InvalidVersion, KeyError):
        return None
    return tags if wanted.specifier.contains(version, prereleases=True) else None


def _suits(file: dict[str, Any]) -> bool:
    try:
        wants = SpecifierSet(str(file.get("requires-python") or ""))
    except InvalidSpecifier:
        return True
    return wants.contains(Version(".".join(map(str, sys.version_info[:3]))), prereleases=True)


def _files(name: str) -> Sequence[dict[str, Any]] | None:
    base = _index_url()
    if not base.startswith(("http://", "https://")):
        return None
    request = urllib.request.Request(f"{base.rstrip('/')}/{name}/", headers={"Accept": _JSON})  # noqa: S310  # http(s)
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            if _JSON not in answer.headers.get("Content-Type", ""):
                return None
            files = json.load(answer)["files"]
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []
        return None
    except (OSError, ValueError, KeyError):
        return None
    return [file for file in files if isinstance(file, dict)]


@cache
def _index_url() -> str:
    """Return the index that pip is set to: it says so in its help. "" where it does not."""
    command = [sys.executable, "-m", "pip", "download", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # fixed arguments
    found = re.search(r"--index-url <url>.*?\(default\s+(\S+?)\)", done.stdout, re.DOTALL)
    return found[1] if found else ""
