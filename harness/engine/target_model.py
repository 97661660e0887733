"""The target: a small decoder-only model with one row of keys and values a seat."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.layers import Layer, Normalize, Rope, attend, attention_bias, joined
from harness.engine.shape import ModelShape
from harness.engine.weights import Weights

__all__ = ["TargetModel"]

Tensor = torch.Tensor


class TargetModel:
    """RMSNorm, RoPE, grouped-query attention and gated MLP, pre-norm.

    The cache is [layers, rows, length, 2, n, d]: its row dimension is the second one. Rows of rejected
    drafts need no undoing: the next step writes the same positions before anything reads them.
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

    def new_cache(self, rows: int, length: int) -> Tensor:
        """Return an empty cache of `length` positions for `rows` seats."""
        s = self.shape
        return self._embed.new_zeros(s.target_layers, rows, length, 2, s.kv_heads, s.head_dim)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return [*tokens, H]; the draft models share this table."""
        return F.embedding(tokens, self._embed)

    def forward(self, tokens: Tensor, positions: Tensor, seats: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Consume tokens [B,T] at positions [B,T]; write the cache rows `seats` [B].

        Returns the greedy choice after each token [B,T] and captured states [B*T,taps*H], the taps' layer
        outputs side by side.
        """
        rope = self._rope.at(positions)
        bias = attention_bias(self._columns[: cache.shape[2]] > positions[:, :, None], self._zero)
        x = self.embed(tokens.reshape(-1))
        states = []
        for index, layer in enumerate(self._layers):
            q, k, v = layer.project(x, self._rope, rope)
            rows = cache[index]
            rows.index_put_((seats[:, None], positions), torch.stack([k, v], 2))
            k_all, v_all = rows[seats].unbind(2)
            x = layer.finish(x, attend(q, k_all, v_all, bias))
            if index in self.shape.taps:
                states.append(x)
        choice = torch.mm(self._norm(x), self._head).argmax(-1)
        return choice.view(tokens.shape), torch.cat(states, -1)
