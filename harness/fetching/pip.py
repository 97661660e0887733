"""pip, which downloads: one wheel at a time, its hash checked. What it complains of becomes one line."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.errors import LaunchError

__all__ = ["download"]

# What pip says -> what it means. The first that fits.
_MEANINGS = (
    (r"No space left on device|Disk quota exceeded", "the disk is full"),
    (
        r"DO NOT MATCH THE HASHES|hash mismatch",
        "its hash differs from the index's: it came cut short, or it is another file",
    ),
    (r"No module named pip", "pip is not installed for this Python: python -m ensurepip"),
    (r"Requires-Python|requires a different Python", "it is not for this version of Python"),
    (
        r"Connection|timed out|Read timeout|IncompleteRead|IncompleteDownload|ProtocolError|Max retries|"
        r"not complete|incomplete-download|HTTP error|Network is unreachable|ProxyError|SSLError",
        "the network failed",
    ),
    (
        r"No matching distribution|Could not find a version",
        "the package index has no such version for this Python",
    ),
)


def download(requirement: str, into: Path) -> Path:
    """Download one wheel into `into`, which holds it whole or not at all, and return it.

    Raises `LaunchError` in one line; `log` has what pip said.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".coming-") as coming:
        command = [
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input",
            "--disable-pip-version-check", "--quiet", "--dest", coming, requirement,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # no shell, our own list
        wheels = sorted(Path(coming).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            said = done.stdout + done.stderr
            raise LaunchError(f"{requirement} was not downloaded: {_meaning(said)}", said)
        return wheels[0].replace(into / wheels[0].name)


def _meaning(said: str) -> str:
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, said, re.IGNORECASE):
            return meaning
    lines = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    return (lines or ["pip did not say why"])[-1]
