"""Random scenarios, trigger scenarios of seeded faults, and the matrix of faults and oracles.

The search (`search`, `finding`) is imported from its modules: it needs Hypothesis, which nothing else does.
"""

from __future__ import annotations

from harness.explore.matrix import Catch, Row, caught_by_one_alone, run_matrix
from harness.explore.random_walk import draw_config, draw_scenario
from harness.explore.story import Story
from harness.explore.triggers import TRIGGERS, planted_for, scenarios_for

__all__ = [
    "TRIGGERS",
    "Catch",
    "Row",
    "Story",
    "caught_by_one_alone",
    "draw_config",
    "draw_scenario",
    "planted_for",
    "run_matrix",
    "scenarios_for",
]
