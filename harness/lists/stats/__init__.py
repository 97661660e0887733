"""How old waivers are, whose they are, when they end, and how their number went: from the file and its history."""

from harness.lists.stats.counting import Aged, Group, Stats, gather
from harness.lists.stats.history import Origin, Version, read_origins, read_versions

__all__ = ["Aged", "Group", "Origin", "Stats", "Version", "gather", "read_origins", "read_versions"]
