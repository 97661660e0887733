"""Random scenarios, trigger scenarios of seeded faults, and the matrix of faults and oracles."""

from __future__ import annotations

from harness.explore.random_walk import draw_config, draw_scenario

__all__ = ["draw_config", "draw_scenario"]
