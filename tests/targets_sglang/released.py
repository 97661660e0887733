"""The releases that the tests of fetched engines run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.fetching import Release, fetched_releases, resolve_fetched

NEWEST = "0.5.23"


def source_of(version: str) -> str:
    """Return the folder of a fetched version; skip the test where it is not fetched."""
    there: list[Release] = fetched_releases()
    if version not in [release.version for release in there]:
        pytest.skip(f"sglang {version} is not fetched: harness targets fetch sglang=={version}")
    folder: Path = resolve_fetched("sglang", version)
    return str(folder)
