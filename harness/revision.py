"""Which commit a folder is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["revision_of"]


def revision_of(folder: Path) -> str:
    """Return the commit of the tree that `folder` is in, `-dirty` behind it where files differ; "" without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            command, cwd=folder, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
