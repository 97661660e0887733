"""Replaying a bundle before it is handed out: its own script, in a fresh process, on its own files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
from harness.bundles.facts import version_of
from harness.codec import decode
from harness.verdicts import CaseResult

__all__ = ["Replayed", "replay"]

_TRIES = 3  # a finding that is not seen the first time may be flaky
_LIMIT = 900.0  # seconds: several hung operations and their relatives


@dataclass(frozen=True)
class Replayed:
    """How often the same signature was seen in how many replays, and what the last one printed."""

    seen: int
    tries: int
    printed: str

    def __str__(self) -> str:
        if self.seen == self.tries:
            return "replayed: same signature"
        return f"replayed: did not repeat ({self.seen} of {self.tries})"


def replay(bundle: Path, signature: str) -> Replayed:
    """Run the bundle's script until the signature is seen again and again or not: once if it is seen at once."""
    seen, printed = 0, ""
    for tries in range(1, _TRIES + 1):
        found, printed = _run(bundle)
        seen += signature in found
        if seen == tries == 1:
            break
    return Replayed(seen, tries, printed)


def _run(bundle: Path) -> tuple[set[str], str]:
    """Return the signatures that a replay shows, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "replay.json"
        try:
            done = subprocess.run(  # noqa: S603  our own script
                ["/usr/bin/env", "bash", str(bundle / "run.sh"), "--json", str(told)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LIMIT,
                check=False, text=True, errors="replace", env=_environment(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return set(), f"could not be replayed: {error}\n"
        return _signatures(told), done.stdout


def _environment() -> dict[str, str]:
    """Return this process's variables, so that another one finds the same code from another folder."""
    paths = [Path(path).resolve() for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if version_of("specdec-harness") is None:  # not installed: it runs out of a checkout
        paths.append(Path(harness.__file__).parents[1])
    return {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(map(str, paths))}


def _signatures(file: Path) -> set[str]:
    try:
        told: Any = json.loads(file.read_text(encoding="utf-8"))
        results = decode(list[CaseResult], told["results"])
    except (OSError, ValueError, KeyError, TypeError):  # it wrote none: its output says why
        return set()
    return {result.signature for result in results} | {
        violation.signature for result in results for violation in result.violations
    }
