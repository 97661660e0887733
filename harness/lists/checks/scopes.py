"""What holds a test, up to a bound that no real path reaches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from harness.lists.nodeid import Level, scopes

__all__ = ["bounded_scopes"]

_MAX_SCOPES = 40  # a hostile path of thousands of slashes would cost its length squared


def bounded_scopes(name: str) -> Iterator[tuple[str, Level]]:
    """The target itself, then what holds it, narrowest first, as `harness.lists.nodeid.scopes`."""
    return islice(scopes(name), _MAX_SCOPES)
