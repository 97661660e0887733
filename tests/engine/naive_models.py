"""The same models written the slow, plain way: one request, no cache, no joined matrices, no shortcuts.

Formulas from the papers' published code, one line each; what the engine's layers are compared with.
Shapes: T tokens, H hidden, heads h and n, head width d, W block width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from harness.engine.shape import ModelShape
from harness.engine.weights import Weights

Tensor = torch.Tensor
KeysValues = list[tuple[Tensor, Tensor]]


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def rotate(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Turn x [T,heads,d], pair (i, i + d/2) by position * theta^(-2i/d)."""
    half = x.shape[-1] // 2
    angle = positions.to(torch.float64)[:, None] * theta ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angle.cos()[:, None].to(x.dtype), angle.sin()[:, None].to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def attention(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """q [T,h,d]; k, v [S,n,d]; visible bool [T,S]; head by head. Returns [T,h*d]."""
    group = q.shape[1] // k.shape[1]
    heads = []
    for head in range(q.shape[1]):
        scores = q[:, head] @ k[:, head // group].T / math.sqrt(q.shape[-1])
        heads.append(scores.masked_fill(~visible, -math.inf).softmax(-1) @ v[:, head // group])
    return torch.cat(heads, -1)


class Naive:
    """Target and draft of one set of weights."""

    def __init__(self, shape: ModelShape, weights: Weights, recurrent: bool = False) -> None:
        self.shape, self.weights, self.recurrent = shape, weights, recurrent

    def states(self, tokens: Sequence[int]) -> Tensor:
        """Return the recurrent states [T,H] after each token."""
        gate, state, states = self.weights["target.gate"], torch.zeros(self.shape.hidden, dtype=torch.float64), []
        for token in tokens:
            state = state * gate + self.weights["target.embed"][token] * (1 - gate)
            states.append(state)
        return torch.stack(states)

    def _part(self, name: str, x: Tensor, positions: Tensor, heads: int, *, norm: str = "") -> Tensor:
        projected = (x @ self.weights[name].T).view(x.shape[0], heads, self.shape.head_dim)
        if not norm:
            return projected
        if norm in self.weights:
            projected = rms_norm(projected, self.weights[norm], self.shape.norm_eps)
        return rotate(projected, positions, self.shape.rope_theta)

    def _finish(self, name: str, x: Tensor, attended: Tensor) -> Tensor:
        w = self.weights
        x = x + attended @ w[f"{name}.o"].T
        y = rms_norm(x, w[f"{name}.post_norm"], self.shape.norm_eps)
        gate, up = y @ w[f"{name}.gate"].T, y @ w[f"{name}.up"].T
        return x + (gate * torch.sigmoid(gate) * up) @ w[f"{name}.down"].T

    def target(self, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return logits [T,V] and captured states [T,taps*H] of one causal forward over all tokens."""
        s, w = self.shape, self.weights
        positions = torch.arange(len(tokens))
        visible = positions[None] <= positions[:, None]
        x = w["target.embed"][torch.tensor(tokens)]
        if self.recurrent:
            x = x + self.states(tokens)
        states = []
        for index in range(s.target_layers):
            name = f"target.{index}"
            y = rms_norm(x, w[f"{name}.input_norm"], s.norm_eps)
            q = self._part(f"{name}.q", y, positions, s.heads, norm=f"{name}.q_norm")
            k = self._part(f"{name}.k", y, positions, s.kv_heads, norm=f"{name}.k_norm")
            v = self._part(f"{name}.v", y, positions, s.kv_heads)
            x = self._finish(name, x, attention(q, k, v, visible))
            if index in s.taps:
                states.append(x)
        return rms_norm(x, w["target.norm"], s.norm_eps) @ w["target.lm_head"].T, torch.cat(states, -1)

    def greedy(self, prompt: Sequence[int], count: int) -> list[int]:
        """Return prompt and `count` tokens, each the likeliest after all before it."""
        tokens = list(prompt)
        for _ in range(count):
            tokens.append(int(self.target(tokens)[0][-1].argmax()))
        return tokens

    def context(self, states: Tensor, positions: Tensor) -> KeysValues:
        """Return each draft layer's context keys and values [T,n,d] of captured states."""
        s, w = self.shape, self.weights
        feature = rms_norm(states @ w["draft.fc"].T, w["draft.hidden_norm"], s.norm_eps)
        return [
            (
                self._part(f"draft.{index}.k", feature, positions, s.kv_heads, norm=f"draft.{index}.k_norm"),
                self._part(f"draft.{index}.v", feature, positions, s.kv_heads),
            )
            for index in range(s.draft_layers)
        ]

    def block(self, anchor: int, at: int, width: int, context: KeysValues) -> Tensor:
        """Return hidden states [W,H] of [anchor, masks] at positions at.., seeing context and each other."""
        s, w = self.shape, self.weights
        positions = torch.arange(at, at + width)
        x = w["target.embed"][torch.tensor([anchor] + [s.mask_token] * (width - 1))]
        for index, (old_k, old_v) in enumerate(context):
            name = f"draft.{index}"
            y = rms_norm(x, w[f"{name}.input_norm"], s.norm_eps)
            q = self._part(f"{name}.q", y, positions, s.heads, norm=f"{name}.q_norm")
            k = torch.cat([old_k, self._part(f"{name}.k", y, positions, s.kv_heads, norm=f"{name}.k_norm")])
            v = torch.cat([old_v, self._part(f"{name}.v", y, positions, s.kv_heads)])
            visible = torch.ones(width, k.shape[0], dtype=torch.bool)
            x = self._finish(name, x, attention(q, k, v, visible))
        return rms_norm(x, w["draft.norm"], s.norm_eps)

    def dflash(self, tokens: Sequence[int], draft_len: int, window: int | None = None) -> Tensor:
        """Return the logits [K,V] of a draft after all of `tokens`, whose last one is the anchor."""
        hidden = self._drafted(tokens, draft_len + 1, window)
        return hidden[1:] @ self.weights["target.lm_head"].T

    def _drafted(self, tokens: Sequence[int], width: int, window: int | None) -> Tensor:
        """Return [W,H] after `tokens`, with the newest `window` tokens as context, None for all of them."""
        at = len(tokens) - 1
        start = 0 if window is None else max(0, at - window)
        states = self.target(tokens[:-1])[1]
        return self.block(tokens[-1], at, width, self.context(states[start:], torch.arange(start, at)))

    def dspark(
        self, tokens: Sequence[int], draft_len: int, window: int | None = None
    ) -> tuple[list[int], list[float]]:
        """Return drafts and confidence after `tokens`; `window` keeps the newest context tokens only."""
        w, hidden = self.weights, self._drafted(tokens, draft_len, window)
        previous, drafts, confidence = tokens[-1], [], []
        for row in hidden:
            markov = w["draft.markov_w1"][previous]
            confidence.append(float(torch.sigmoid(w["draft.confidence"][0] @ torch.cat([row, markov]))))
            previous = int((row @ w["target.lm_head"].T + w["draft.markov_w2"] @ markov).argmax())
            drafts.append(previous)
        return drafts, confidence
