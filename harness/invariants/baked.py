"""I-BAKED: a replayed graph reads the storages that are in use, not those of its capture. Kind K11."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Violation

__all__ = ["graphs_read_present_storage"]


def graphs_read_present_storage(view: View) -> Iterator[Violation]:
    """No buffer got another storage between the capture of a graph and its replay."""
    for buffer in view.now.buffers:
        captured = view.captured.get(buffer.name)
        if captured is not None and captured != buffer.generation:
            yield view.broken(
                "I-BAKED", "moved",
                f"{buffer.name} got new storage after the graph of bucket {view.now.graph} was captured, "
                "which still reads the old one",
                expected=f"generation {captured}", seen=f"generation {buffer.generation}", buffer=buffer.name,
            )  # fmt: skip
