"""Where fetched engines lie: a folder a wheel, shared by all engines that need it, and a folder a release.

    engines/wheels/NAME-VERSION-HASH/      an unpacked wheel; its manifest lies beside it, NAME-VERSION-HASH.json
    engines/downloads/                     wheels that were downloaded and not unpacked yet
    engines/NAME-VERSION-PYTHON/           engine.json (which wheels), site (the engine), env (its Python), shared

A folder has its final name only when it is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.fetching.engines import ENGINES, Release
from harness.targets.sources import cache_folder

__all__ = ["RECORD", "downloads", "engines_folder", "fetched_releases", "locked", "python_tag", "release_folder"]

RECORD = "engine.json"


def engines_folder() -> Path:
    """Return the folder of everything that is fetched."""
    return cache_folder() / "engines"


def downloads() -> Path:
    """Return the folder of wheels that are still to be unpacked."""
    return engines_folder() / "downloads"


def python_tag() -> str:
    """Return what makes unpacked wheels this Python's."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def release_folder(release: Release) -> Path:
    """Return the folder of a release for this Python, fetched or not."""
    return engines_folder() / f"{release.engine.name}-{release.version}-{python_tag()}"


def fetched_releases() -> list[Release]:
    """Return what is fetched for this Python, by name and version."""
    found = []
    for record in sorted(engines_folder().glob(f"*-{python_tag()}/{RECORD}")):
        name, _, version = record.parent.name.removesuffix(f"-{python_tag()}").partition("-")
        if name in ENGINES:
            found.append(Release(ENGINES[name], version))
    return found


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Let one process at a time change what is fetched; the kernel lets go of the lock when it dies."""
    engines_folder().mkdir(parents=True, exist_ok=True)
    with (engines_folder() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
