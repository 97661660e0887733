"""Five small tests that docs/results.md runs."""

import os

import pytest


@pytest.mark.parametrize("bucket", [1, 2, 4, 5])
def test_bucket(bucket: int) -> None:
    """Holds for every bucket."""
    assert bucket


def test_order() -> None:
    """Fails while the variable `BROKEN` is set."""
    broken = "BROKEN" in os.environ
    assert not broken, "the largest bucket must come first"
