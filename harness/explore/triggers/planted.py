"""What brings out the planted faults of a released engine, all of them: requests come, go, and come again.

Such engines have no options, so the stories of the embedded engine's faults are not theirs.
"""

from __future__ import annotations

from harness.explore.story import Story
from harness.scenario import Admit, Capture, Config, Finish, Operation, Scenario, Step

__all__ = ["planted_for"]

_OPERATIONS: tuple[Operation, ...] = (
    Capture(2), Capture(4), Admit("r0", 4), Step(), Admit("r1", 4), Step(), Admit("r2", 4), Step(),
    Admit("r3", 4), Step(), Finish("r0"), Step(), Finish("r1"), Step(), Admit("r0", 4), Step(), Step(),
    # Of a full batch one goes, and before the next step somebody comes: another one, then of the same name.
    Admit("r1", 4), Step(), Finish("r2"), Admit("r4", 4), Step(), Finish("r4"), Admit("r4", 4), Step(), Step(),
)  # fmt: skip
_STORY = Story("requests come, go and come again", _OPERATIONS, Config("dflash", 4, 4, (2, 4)))


def planted_for(fault: str) -> tuple[Scenario, ...]:
    """Return the scenarios that bring out a planted fault, the same for all."""
    del fault
    return tuple(_STORY.scenarios())
