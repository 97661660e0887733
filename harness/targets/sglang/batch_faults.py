"""Planted defects of how the running batch is filtered: of its parallel fields one is forgotten."""

from __future__ import annotations

from typing import Any

from harness.targets.sglang.assembly import Parts

__all__ = ["prompt_lengths_not_filtered", "relay_rows_not_filtered"]


def relay_rows_not_filtered(parts: Parts) -> None:
    """Rows of the relay are cut to as many as stay: the batch's first, whoever stays."""
    kind = parts.tree.draft_input.DFlashDraftInputV2
    whole = kind.filter_batch

    def filtered(self: Any, new_indices: Any, new_indices_cpu: list[int] | None = None) -> None:
        rows = self.future_indices
        whole(self, new_indices, new_indices_cpu)
        self.future_indices = rows[: len(new_indices)]

    parts.undo.callback(setattr, kind, "filter_batch", whole)
    kind.filter_batch = filtered


def prompt_lengths_not_filtered(parts: Parts) -> None:
    """The lengths of prompts stay those of everybody who was in the batch."""
    kind = parts.tree.batch.ScheduleBatch
    whole = kind.filter_batch

    def filtered(self: Any, *who: Any, **kept: Any) -> None:
        lengths = self.orig_seq_lens
        whole(self, *who, **kept)
        self.orig_seq_lens = lengths

    parts.undo.callback(setattr, kind, "filter_batch", whole)
    kind.filter_batch = filtered
