"""What a fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.engine import Parts

__all__ = ["Fault"]


@dataclass(frozen=True)
class Fault:
    """A defect after a public bug.

    kind     the fault kind, K01 to K16; modelled_on: the bug; summary: what the engine then does wrong.
    apply    puts the defect into an engine's parts.
    """

    name: str
    kind: str
    modelled_on: str
    summary: str
    apply: Callable[[Parts], Parts]
