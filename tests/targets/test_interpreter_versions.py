"""Triton's interpreter is made quicker where it was read, and left alone where it was not."""

from __future__ import annotations

import pytest

from harness.targets.common.interpreter import quicken


@pytest.mark.parametrize("version", ["3.5.1", "3.8.0", "4.0.0", "13.6.0", ""])
def test_an_interpreter_that_was_not_read_is_not_touched(version: str) -> None:
    quicken(object(), version)


@pytest.mark.parametrize("version", ["3.6.0", "3.7.0", "3.7.1+git"])
def test_one_that_was_read_is(version: str) -> None:
    with pytest.raises(AttributeError):
        quicken(object(), version)
