"""Ending a run because of what no test can help: said once, with the exit code of the error."""

from __future__ import annotations

from typing import NoReturn

import pytest

from harness.errors import HarnessError

__all__ = ["ends_the_run", "leave"]


def leave(error: HarnessError) -> NoReturn:
    """End pytest with one line."""
    raise pytest.exit.Exception(f"harness: {error}", error.exit_code) from error


def ends_the_run(raised: BaseException) -> bool:
    """Whether `leave` raised it. A test's own `pytest.exit` is that test's crash, where a run is supervised."""
    return isinstance(raised, pytest.exit.Exception) and isinstance(raised.__cause__, HarnessError)
