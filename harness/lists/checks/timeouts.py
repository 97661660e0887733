"""TIMEOUT markers: the default written out, and spellings that scripts do not find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from harness.lists.checks.finding import Finding, find, named
from harness.lists.model import Line

__all__ = ["check_timeouts"]

_DEFAULT_SECONDS = 3600


def check_timeouts(lines: Iterable[Line]) -> Iterator[Finding]:
    """Check every TIMEOUT that could be read."""
    for line in lines:
        marker = line.marker("TIMEOUT")
        if marker is None or marker.value is None:
            continue
        place, subject = marker.token.place, named(line)
        expected = f"TIMEOUT ({int(marker.value.text)})"
        if line.timeout == _DEFAULT_SECONDS:
            message = "60 minutes are the default"
            yield find("default-timeout", place, message, "remove the marker", subject=subject)
        written = re.search(rf"TIMEOUT\s*\(\s*{re.escape(marker.value.text)}\s*\)", line.text)
        if written and written[0] != expected:
            message = f"'{written[0]}' is not the usual spelling"
            yield find("timeout-spelling", place, message, f"write {expected}", subject=subject)
