"""The trigger of every seeded fault: short stories after the bug that it is modelled on."""

from __future__ import annotations

from harness.explore.story import Story
from harness.explore.triggers.forwards import FORWARD_TRIGGERS
from harness.explore.triggers.pools import POOL_TRIGGERS
from harness.explore.triggers.rows import ROW_TRIGGERS
from harness.explore.triggers.state import STATE_TRIGGERS
from harness.scenario import Scenario

__all__ = ["TRIGGERS", "scenarios_for"]

TRIGGERS: dict[str, tuple[Story, ...]] = {**POOL_TRIGGERS, **ROW_TRIGGERS, **STATE_TRIGGERS, **FORWARD_TRIGGERS}


def scenarios_for(fault: str) -> tuple[Scenario, ...]:
    """Return the scenarios that bring a fault out, none for one that has no trigger."""
    return tuple(scenario for story in TRIGGERS.get(fault, ()) for scenario in story.scenarios())
