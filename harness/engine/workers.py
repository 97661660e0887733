"""The DFlash and DSpark workers: what a slot keeps of a context.

Index names: B batch rows, C context columns, W window columns, L draft layers.
"""

from __future__ import annotations

import torch

from harness.engine.draft_models import DFlashModel, DraftModel, DSparkModel
from harness.engine.parts import Parts
from harness.engine.spec_worker import SpecWorker

__all__ = ["DFlashWorker", "DSparkWorker", "make_worker"]

Tensor = torch.Tensor


class DFlashWorker(SpecWorker):
    """The whole context, a column a position; K+1 columns of slack take the rows of rejected drafts."""

    period = 1 << 40  # no position comes round again

    def __init__(
        self, model: DFlashModel, parts: Parts, like: Tensor, max_seq_len: int, sampling: bool = False
    ) -> None:
        self.columns = max_seq_len + model.draft_len + 1
        super().__init__(model, parts, like, sampling)

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # Rejected rows are written too: they lie behind the length, and the next append covers them.
        del valid
        self.context.transpose(1, 2).index_put_((slots, positions), rows)

    def _attended(self, length: int, start: int) -> int:
        return length - max(start, 0)


class DSparkWorker(SpecWorker):
    """A rolling window of the newest W tokens."""

    def __init__(self, model: DSparkModel, parts: Parts, like: Tensor, sampling: bool = False) -> None:
        self.columns = self.period = model.shape.window
        super().__init__(model, parts, like, sampling)
        if model.draft_len >= self.columns:
            # A step could write one column twice.
            raise ValueError(f"draft_len {model.draft_len} must be below the window, {self.columns}")

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # A rejected row's column still holds an older token of the window: put that back.
        ring = self.context.transpose(1, 2)
        index = (slots, positions % self.columns)
        ring.index_put_(index, self._parts.ring_rows(valid[:, :, None, None, None, None], rows, ring[index]))

    def _attended(self, length: int, start: int) -> int:
        return min(self.columns, length - start)


def make_worker(model: DraftModel, parts: Parts, like: Tensor, max_seq_len: int, sampling: bool) -> SpecWorker:
    """Return the worker that drives `model`."""
    if isinstance(model, DSparkModel):
        return DSparkWorker(model, parts, like, sampling)
    assert isinstance(model, DFlashModel)
    return DFlashWorker(model, parts, like, max_seq_len, sampling)
