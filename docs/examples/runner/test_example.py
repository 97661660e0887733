"""Tests of every kind that docs/runner.md shows."""

import ctypes
from pathlib import Path

import pytest


def test_passes() -> None:
    """Nothing to see."""


def test_reads_address_zero() -> None:
    """Ends its process."""
    ctypes.string_at(0)


def test_known_to_fail() -> None:
    """Waived by XFAIL."""
    pytest.fail("as the bug says")


def test_does_not_run() -> None:
    """Waived by SKIP."""
    pytest.fail("nobody sees this")


def test_wants_its_own_process() -> None:
    """An ISOLATION entry."""


def test_fails_once(request: pytest.FixtureRequest) -> None:
    """Flaky: passes where it was before."""
    before = request.config.rootpath / "flaky.txt"
    was_here = before.exists()
    Path(before).touch()
    assert was_here
