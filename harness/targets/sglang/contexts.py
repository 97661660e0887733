"""What each row's request has in the draft pool, gathered by row: locations move from request to request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from harness.targets.sglang.models import LAYERS
from harness.targets.sglang.requests import Request

__all__ = ["Contexts"]


class Contexts:
    """A tensor [rows, columns, values], always the same one, of which a step may change its own requests' rows.

    Zeros stand behind the committed tokens.
    """

    def __init__(self, pool: Any, req_to_token: torch.Tensor) -> None:
        self._pool, self._req_to_token = pool, req_to_token
        self._tensor: torch.Tensor | None = None

    def gather(self, live: Iterable[Request]) -> torch.Tensor:
        """Read the pool as it is now."""
        places = self._req_to_token.long()
        lengths = torch.zeros(len(places), 1, dtype=torch.int64, device=places.device)
        for request in live:
            lengths[request.row] = request.position
        kept = torch.arange(places.shape[1], device=places.device) < lengths
        buffers = [
            read(layer)
            for layer in range(LAYERS)
            for read in (self._pool.get_key_buffer, self._pool.get_value_buffer)
        ]
        contexts = torch.cat([buffer[places].flatten(2) for buffer in buffers], 2) * kept.unsqueeze(2)
        if self._tensor is None:
            self._tensor = torch.empty_like(contexts)
        return self._tensor.copy_(contexts)
