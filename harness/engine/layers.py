"""The layers that target and draft models are made of, on plain tensors.

Shapes: B batch rows, T query tokens, S keys, H hidden, h heads, n key/value heads, d head width.
Few operations on purpose: a CPU replays a step operation by operation, and a verdict needs ten thousand steps.
So tokens are flat [B*T, H] between attentions, a norm's gain is part of the matrix behind it, matrices that
read the same input are joined, and a residual sum is part of its product.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.shape import ModelShape
from harness.engine.weights import Weights

__all__ = ["Layer", "Normalize", "Rope", "attend", "attention_bias", "joined"]

Tensor = torch.Tensor


class Normalize:
    """RMSNorm over the last dimension without its gain: x / sqrt(mean(x^2) + eps).

    Written as x / hypot(|x|, sqrt(eps*size)) * sqrt(size), three operations; the last factor is in
    `scale`, which goes into the gain.
    """

    def __init__(self, size: int, eps: float, like: Tensor) -> None:
        self.scale = math.sqrt(size)
        self._floor = like.new_tensor(math.sqrt(eps * size))

    def __call__(self, x: Tensor) -> Tensor:
        """Return x [..., size] normed, up to the factor `scale`."""
        size: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / size.hypot(self._floor)


def joined(norm: Normalize, gain: Tensor, *weights: Tensor) -> Tensor:
    """Return [in, out]: the given matrices [out, in] as one, behind a norm with this gain."""
    return (torch.cat(weights) * (gain * norm.scale)).t().contiguous()


class Rope:
    """Rotary position embedding, rotate-half form over the whole head (Su et al. 2021; GPT-NeoX layout).

    rotate_half(x) is x rolled by half a head with the first half's sign flipped; the flip is in the table,
    [length, 2, 1, d]: cosines, then signed sines.
    """

    def __init__(self, shape: ModelShape, length: int, dtype: torch.dtype, device: str) -> None:
        half = shape.head_dim // 2
        # Computed on the CPU, moved then: the device's own cosine may differ in the last bit.
        frequency = shape.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
        cos, sin = torch.cos(angle), torch.sin(angle)
        table = torch.stack([torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)], 1)
        self._half = half
        self._table = table[:, :, None].to(device, dtype)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return (cos, sin), each [*positions, 1, d]; look them up once a forward, for all layers."""
        cos, sin = self._table[positions].unbind(-3)
        return cos, sin

    def rotate(self, x: Tensor, at: tuple[Tensor, Tensor]) -> Tensor:
        """Return x [..., heads, d] turned to the looked-up positions."""
        cos, sin = at
        return torch.addcmul(x * cos, x.roll(self._half, -1), sin)


def attention_bias(hidden_keys: Tensor, zero: Tensor) -> Tensor:
    """Return what `attend` adds to scores, [B,1,T,S]: minus infinity where hidden_keys [B,T,S] is True.

    Made once a forward and shared by its layers. `zero` is one, without dimensions, of the models' dtype.
    """
    return zero.masked_fill(hidden_keys[:, None], -math.inf)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Grouped-query attention. q [B,T,h,d]; k, v [B,S,n,d]; bias [B,1,T,S]; returns [B*T,h*d]."""
    attended = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=bias, enable_gqa=True
    )
    return attended.transpose(1, 2).reshape(q.shape[0] * q.shape[1], -1)


class Layer:
    """One pre-norm decoder layer: attention and gated MLP, down(silu(gate x) * up x)."""

    def __init__(self, shape: ModelShape, weights: Weights, name: str) -> None:
        self._shape = shape
        like = weights[f"{name}.input_norm"]
        self._norm = Normalize(shape.hidden, shape.norm_eps, like)
        self._qkv = joined(self._norm, like, *(weights[f"{name}.{part}"] for part in "qkv"))
        self._gate_up = joined(
            self._norm, weights[f"{name}.post_norm"], weights[f"{name}.gate"], weights[f"{name}.up"]
        )
        self._out = weights[f"{name}.o"].t().contiguous()
        self._down = weights[f"{name}.down"].t().contiguous()
        self._head_norm = Normalize(shape.head_dim, shape.norm_eps, like)
        self._qk_gain: Tensor | None = None
        if f"{name}.q_norm" in weights:
            gains = [weights[f"{name}.q_norm"]] * shape.heads + [weights[f"{name}.k_norm"]] * shape.kv_heads
            self._qk_gain = torch.stack(gains) * self._head_norm.scale

    def project(self, x: Tensor, rope: Rope, at: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return q [B,T,h,d], k and v [B,T,n,d] of x [B*T,H]; q and k normed (drafts) and turned."""
        s = self._shape
        both = s.heads + s.kv_heads
        qkv = torch.mm(self._norm(x), self._qkv).view(*at[0].shape[:2], both + s.kv_heads, s.head_dim)
        qk = qkv[:, :, :both]
        if self._qk_gain is not None:
            qk = self._head_norm(qk) * self._qk_gain
        qk = rope.rotate(qk, at)
        return qk[:, :, : s.heads], qk[:, :, s.heads :], qkv[:, :, both:]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return x [B*T,H] after the residual sums of attention output and MLP."""
        x = torch.addmm(x, attended, self._out)
        gate, up = torch.mm(self._norm(x), self._gate_up).chunk(2, -1)
        return torch.addmm(x, F.silu(gate) * up, self._down)
