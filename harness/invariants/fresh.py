"""I-FRESH: whoever gets a row finds in it what the target declares, not what the last owner left. Kind K06."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Violation

__all__ = ["rows_are_reset"]


def rows_are_reset(view: View) -> Iterator[Violation]:
    """The host compares a row with its declared initial value when it is given, reset and not yet written.

    Where old content may stay, a probe poisons it instead, and reading it shows in R-PROBED.
    """
    yield from view.findings("I-FRESH")
