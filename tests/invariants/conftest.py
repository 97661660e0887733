"""One launcher for all tests of this folder: its hosts start once. One thread, as hosts have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from harness.launch import Launcher

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher() as opened:
        yield opened
