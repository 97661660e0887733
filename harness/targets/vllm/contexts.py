"""What each row's request has in the draft layers, gathered by row: blocks move from request to request."""

from __future__ import annotations

import torch

from harness.targets.common.toy import hidden_states
from harness.targets.vllm.assembly import Parts
from harness.targets.vllm.config import BLOCK
from harness.targets.vllm.requests import Request

__all__ = ["Contexts"]


class Contexts:
    """A tensor [rows, columns, values], always the same one, of which a step may change its own requests' rows.

    Zeros stand behind the committed tokens.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tensor: torch.Tensor | None = None

    def gather(self, live: dict[str, Request]) -> torch.Tensor:
        """Read the cache as it is now."""
        table = self._parts.runner.block_tables.block_tables[0].gpu
        rows = self._parts.runner.req_states.req_id_to_index
        lengths = torch.zeros(len(table), 1, dtype=torch.int64, device=table.device)
        for name, request in live.items():
            if name in rows:
                lengths[rows[name]] = request.position
        kept = torch.arange(table.shape[1] * BLOCK, device=table.device) < lengths
        found = torch.cat(list(self._parts.drafter.memory.contexts(table)), 2) * kept.unsqueeze(2)
        if self._tensor is None:
            self._tensor = torch.empty_like(found)
        return self._tensor.copy_(found)

    def receive(self, request: Request) -> None:
        """Write into both models' layers what another server computed of a request."""
        device = self._parts.runner.device
        places = torch.arange(request.position, device=device)
        blocks = torch.tensor([block.block_id for block in request.blocks], device=device)
        states = hidden_states([request.key] * request.position, places.tolist()).to(device)
        for model in (self._parts.target, self._parts.drafter):
            model.memory.write(blocks[places // BLOCK] * BLOCK + places % BLOCK, states)
