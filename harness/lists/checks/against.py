"""What a check compares lists with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.lists.bugstates import BugStates
    from harness.lists.known import KnownTests
    from harness.lists.model import Entry
    from harness.lists.stages import Stage

__all__ = ["Against"]


@dataclass(frozen=True, slots=True)
class Against:
    """The world outside the file. What is None, or empty for `stages`, is not known and not checked.

    `listed` are the entries of all test lists. `today` decides what has expired.
    """

    tests: KnownTests | None = None
    stages: Sequence[Stage] = ()
    bugs: BugStates | None = None
    listed: Sequence[Entry] | None = None
    require_owner: bool = False
    today: date = field(default_factory=date.today)
