"""The editing commands of `harness waives`; each imports what it needs when it runs."""

from __future__ import annotations

from harness.cli._waives_change import add, fmt, remove, rename
from harness.cli._waives_compare import diff, merge
from harness.cli._waives_prune import prune

__all__ = ["add", "diff", "fmt", "merge", "prune", "remove", "rename"]
