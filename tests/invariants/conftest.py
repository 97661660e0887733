"""One launcher for all tests of this folder: its hosts start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.launch import Launcher


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher() as opened:
        yield opened
