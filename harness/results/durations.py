"""Durations of tests: a pinned file that shards are planned with, made from a history of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from harness.errors import Place, UsageError
from harness.files import write_atomically

__all__ = ["read_durations", "typical", "write_durations"]

_FORMAT = 1
# How many runs count: what was long ago says little about the test as it is now.
_RECENT = 25


def read_durations(path: Path) -> dict[str, float]:
    """Return seconds by test. Raises `UsageError` for what is no durations file."""
    place = Place(str(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", place) from None
    except ValueError as error:
        raise UsageError(f"is no JSON ({error}); `harness results durations` writes one", place) from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT or not isinstance(data.get("durations"), dict):
        message = f'expected {{"format": {_FORMAT}, "durations": {{test: seconds}}}}'
        raise UsageError(f"{message}; `harness results durations` writes it", place)
    durations: dict[str, float] = {}
    for test, seconds in data["durations"].items():
        if type(seconds) not in (int, float) or not 0 <= seconds < 1e9:
            raise UsageError(f"{test}: expected seconds, found {seconds!r}", place)
        durations[test] = float(seconds)
    return durations


def write_durations(path: Path, durations: Mapping[str, float]) -> None:
    """Write a durations file, a line a test, sorted: equal durations are equal bytes, a change is a small diff."""
    rounded = {test: round(seconds, 3) for test, seconds in sorted(durations.items())}
    write_atomically(path, json.dumps({"format": _FORMAT, "durations": rounded}, indent=1) + "\n")


def typical(seconds: Sequence[float]) -> float:
    """The median of the most recent runs (newest last): one run under contention does not move it far.

    Of two runs it is the shorter one: contention only ever makes a run longer.
    """
    recent = seconds[-_RECENT:]
    return min(recent) if len(recent) < 3 else median(recent)
