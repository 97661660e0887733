"""Released engines in the user's cache: packages of their own, this environment's torch, checked on use."""

from __future__ import annotations

from harness.fetching.checking import Depth
from harness.fetching.engines import ENGINES, Release, parse_release
from harness.fetching.fetch import fetch, remove
from harness.fetching.folders import fetched_releases
from harness.fetching.using import resolve_fetched

__all__ = [
    "ENGINES",
    "Depth",
    "Release",
    "fetch",
    "fetched_releases",
    "parse_release",
    "remove",
    "resolve_fetched",
]
