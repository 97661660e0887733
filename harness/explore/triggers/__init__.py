"""The trigger of every seeded fault: the story of the bug's reproducer, or a short one beside it."""

from __future__ import annotations

from harness.catalogue import load_catalogue
from harness.explore.story import Retold, Trigger
from harness.explore.triggers.forwards import FORWARD_TRIGGERS
from harness.explore.triggers.planted import planted_for
from harness.explore.triggers.pools import POOL_TRIGGERS
from harness.explore.triggers.rows import ROW_TRIGGERS
from harness.explore.triggers.state import STATE_TRIGGERS
from harness.scenario import Scenario

__all__ = ["TRIGGERS", "planted_for", "scenarios_for"]

# A catalogued bug's own story brings its fault out; a fault in one of the tables has another story, told there.
TRIGGERS: dict[str, Trigger] = {
    **{entry.fault: Retold(entry.bug) for entry in load_catalogue()},
    **POOL_TRIGGERS,
    **ROW_TRIGGERS,
    **STATE_TRIGGERS,
    **FORWARD_TRIGGERS,
}


def scenarios_for(fault: str) -> tuple[Scenario, ...]:
    """Return the scenarios that bring a fault out, none for one that has no trigger."""
    return tuple(TRIGGERS[fault].scenarios()) if fault in TRIGGERS else ()
