"""Ending a run because of what no test can help: said once, with the exit code of the error."""

from __future__ import annotations

from typing import NoReturn

import pytest

from harness.errors import HarnessError

__all__ = ["Exit", "leave"]


class Exit(pytest.exit.Exception):  # a person reads the name
    """The run ends here. A test's own `pytest.exit` is that test's crash instead, where a run is supervised."""


def leave(error: HarnessError) -> NoReturn:
    """End pytest with one line."""
    raise Exit(f"harness: {error}", error.exit_code)
