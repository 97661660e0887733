"""The target: a small decoder-only model with keys and values a seat, in one row or in pages."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.context import DenseContext, PagedContext
from harness.engine.layers import Layer, Normalize, Rope, attend, attention_bias, joined
from harness.engine.shape import ModelShape
from harness.engine.weights import Weights

__all__ = ["TargetModel"]

Tensor = torch.Tensor


class TargetModel:
    """RMSNorm, RoPE, grouped-query attention and gated MLP, pre-norm.

    The cache is [layers, rows, length, 2, n, d]: its row dimension is the second one. Rows of rejected
    drafts need no undoing: the next step writes the same positions before anything reads them.

    gate  in 0..1, of each channel of a recurrent state beside them (`RecurrentState`).
    """

    def __init__(self, shape: ModelShape, weights: Weights, rope: Rope, length: int) -> None:
        """Make a model for positions below `length`."""
        self.shape = shape
        self._embed = weights["target.embed"]
        self._zero = self._embed.new_zeros(())
        self._rope = rope
        self._columns = torch.arange(length, device=self._embed.device)
        self._layers = [Layer(shape, weights, f"target.{index}") for index in range(shape.target_layers)]
        self._norm = Normalize(shape.hidden, shape.norm_eps, self._embed)
        self._head = joined(self._norm, weights["target.norm"], weights["target.lm_head"])
        self.draft_head = weights["target.lm_head"]
        self.gate = weights["target.gate"]

    def new_cache(self, rows: int, length: int) -> Tensor:
        """Return an empty cache of `length` positions a row, for that many seats or pages."""
        s = self.shape
        return self._embed.new_zeros(s.target_layers, rows, length, 2, s.kv_heads, s.head_dim)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return [*tokens, H]; the draft models share this table."""
        return F.embedding(tokens, self._embed)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        seats: Tensor,
        context: DenseContext | PagedContext,
        beside: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Consume tokens [B,T] at positions [B,T]; write the context of `seats` [B].

        beside [B,T,H] is added to the embeddings: a recurrent state after each token. Returns logits [B,T,V]
        and captured states [B*T,taps*H], the taps' layer outputs side by side.
        """
        rope = self._rope.at(positions)
        bias = attention_bias(self._columns[: context.length] > positions[:, :, None], self._zero)
        x = self.embed(tokens.reshape(-1))
        if beside is not None:
            x = x + beside.view(x.shape)
        written, read = context.at(seats, positions)
        states = []
        for index, layer in enumerate(self._layers):
            q, k, v = layer.project(x, self._rope, rope)
            rows = context.cache[index]
            rows.index_put_(written, torch.stack([k, v], 2))
            k_all, v_all = context.read(rows, read).unbind(2)
            x = layer.finish(x, attend(q, k_all, v_all, bias))
            if index in self.shape.taps:
                states.append(x)
        return torch.mm(self._norm(x), self._head).view(*tokens.shape, -1), torch.cat(states, -1)
