"""The release of vLLM that the tests of it run on."""

from __future__ import annotations

import pytest

from harness.fetching import fetched_releases, resolve_fetched

NEWEST = "0.33.0"


def source_of(version: str) -> str:
    """Return the folder of a fetched version; skip the test where it is not fetched."""
    if version not in [release.version for release in fetched_releases() if release.engine.name == "vllm"]:
        pytest.skip(f"vllm {version} is not fetched: harness targets fetch vllm=={version}")
    return str(resolve_fetched("vllm", version))
