"""I-BAKED: a replayed graph reads the storages that are in use, not those of its capture. Kind K11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.invariants.base import View
from harness.scenario import Capture
from harness.trace import Violation

__all__ = ["graphs_read_present_storage"]


def graphs_read_present_storage(view: View) -> Iterator[Violation]:
    """No buffer gets another storage while a graph is captured, or between a capture and a replay."""
    if isinstance(view.operation, Capture) and view.before is not None:
        yield from _moved_while_captured(view, {buffer.name: buffer.generation for buffer in view.before.buffers})
    for buffer in view.now.buffers:
        captured = view.captured.get(buffer.name)
        if captured is not None and captured != buffer.generation:
            yield view.broken(
                "I-BAKED", "moved",
                f"{buffer.name} got new storage after the graph of bucket {view.now.graph} was captured, "
                "which still reads the old one",
                expected=f"generation {captured}", seen=f"generation {buffer.generation}", buffer=buffer.name,
            )  # fmt: skip


def _moved_while_captured(view: View, before: Mapping[str, int]) -> Iterator[Violation]:
    for buffer in view.now.buffers:
        if before.get(buffer.name, buffer.generation) != buffer.generation:
            yield view.broken(
                "I-BAKED", "allocated", f"{buffer.name} got new storage while a graph was captured",
                expected=f"generation {before[buffer.name]}", seen=f"generation {buffer.generation}",
                buffer=buffer.name,
            )  # fmt: skip
