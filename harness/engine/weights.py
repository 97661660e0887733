"""Seeded weights, the same bits on every device and torch version.

Library generators promise neither, and a verdict compares CPU with CUDA token for token. So a weight is a
hash of its index: the output function of SplitMix64 (Steele, Lea, Flood 2014), which is integer arithmetic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch

from harness.engine.shape import ModelShape

__all__ = [
    "Weights", "hashed_ids", "hashed_number", "hashed_stream", "make_gate", "make_weights", "matrix_sizes",
    "shift_xor", "signed",
]  # fmt: skip

Weights = dict[str, torch.Tensor]

_GOLDEN = 0x9E3779B97F4A7C15
_OWN_STREAM = 1 << 32  # seeds are small
_MIX_1, _MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def signed(value: int) -> int:
    """Return the signed 64-bit integer with the bits of `value`."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def shift_xor(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Return x ^ (x >> bits) of int64 x, shifted as if it had no sign."""
    # >> is arithmetic on int64: mask the copied sign bits away.
    return x ^ ((x >> bits) & ((1 << (64 - bits)) - 1))


def _hash(count: int, stream: int) -> torch.Tensor:
    """Return int64 [count]: SplitMix64 of counters 1..count in the given stream."""
    x = torch.arange(1, count + 1, dtype=torch.int64) * signed(_GOLDEN) + signed(stream * _MIX_2 + _MIX_1)
    x = shift_xor(x, 30) * signed(_MIX_1)
    x = shift_xor(x, 27) * signed(_MIX_2)
    return shift_xor(x, 31)


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * _MIX_1) & ((1 << 64) - 1)
    value = ((value ^ (value >> 27)) * _MIX_2) & ((1 << 64) - 1)
    return value ^ (value >> 31)


def hashed_ids(name: str, count: int, below: int, seed: int) -> list[int]:
    """Return `count` token ids below `below`, a function of `name` and `seed` alone (a request's prompt)."""
    stream = hashed_stream(name, seed)
    return [next(stream) % below for _ in range(count)]


def hashed_stream(name: str, seed: int) -> Iterator[int]:
    """Yield numbers of 64 bits without an end, a function of `name` and `seed` alone."""
    state = hashed_number(name, seed)
    for index in itertools.count(1):
        yield _mix(state + index * _GOLDEN & ((1 << 64) - 1))


def hashed_number(name: str, seed: int) -> int:
    """Return 64 bits without a sign, a function of `name` and `seed` alone."""
    state = seed
    for byte in name.encode():
        state = _mix(state * 257 + byte + 1)
    return state


def make_weights(shape: ModelShape, worker: str, seed: int, dtype: torch.dtype, device: str) -> Weights:
    """Return all weights of target (`target.*`) and draft (`draft.*`) by name.

    Matrices [out, in] are uniform with variance 1/in, so activations keep their size; norm gains are
    within 20 % of one, so that a forgotten gain shows; a recurrent state's gate is within 0.25..0.75.
    """
    table = matrix_sizes(shape, worker)
    total = sum(rows * columns for rows, columns in table.values())
    uniform = _uniform(total, seed)
    weights: Weights = {}
    start = 0
    for name, (rows, columns) in table.items():
        flat = uniform[start : start + rows * columns]
        start += rows * columns
        if rows == 1 and name.endswith("norm"):
            weights[name] = (1.0 + 0.2 * flat).to(device, dtype)
        else:
            weights[name] = (flat * math.sqrt(3.0 / columns)).view(rows, columns).to(device, dtype)
    # Embeddings feed norms, not sums: they keep unit size whatever the width is.
    weights["target.embed"] *= math.sqrt(shape.hidden)
    weights["target.gate"] = make_gate(shape, seed).to(device, dtype)
    return weights


def make_gate(shape: ModelShape, seed: int) -> torch.Tensor:
    """Return the gate of a recurrent state, float64 [H]; no other weight depends on whether there is one."""
    return 0.5 + 0.25 * _uniform(shape.hidden, seed + _OWN_STREAM)


def _uniform(count: int, stream: int) -> torch.Tensor:
    """Return float64 [count] in [-1,1)."""
    return (((_hash(count, stream) >> 11) & ((1 << 53) - 1)).to(torch.float64) * 2.0**-52) - 1.0


def matrix_sizes(shape: ModelShape, worker: str) -> dict[str, tuple[int, int]]:
    """Return name -> [out, in] of all weights but the gate; the gain of a norm is one row."""
    h, width = shape.hidden, shape.head_dim
    table = {"target.embed": (shape.vocab, h), "target.lm_head": (shape.vocab, h), "target.norm": (1, h)}
    for model, count in (("target", shape.target_layers), ("draft", shape.draft_layers)):
        for layer in range(count):
            name = f"{model}.{layer}"
            table |= {
                f"{name}.input_norm": (1, h),
                f"{name}.q": (shape.heads * width, h),
                f"{name}.k": (shape.kv_heads * width, h),
                f"{name}.v": (shape.kv_heads * width, h),
                f"{name}.o": (h, shape.heads * width),
                f"{name}.post_norm": (1, h),
                f"{name}.gate": (shape.intermediate, h),
                f"{name}.up": (shape.intermediate, h),
                f"{name}.down": (h, shape.intermediate),
            }
            if model == "draft":
                table |= {f"{name}.q_norm": (1, width), f"{name}.k_norm": (1, width)}
    table |= {"draft.fc": (h, len(shape.taps) * h), "draft.hidden_norm": (1, h), "draft.norm": (1, h)}
    if worker == "dspark":
        rank = shape.markov_rank
        table |= {
            "draft.markov_w1": (shape.vocab, rank),
            "draft.markov_w2": (shape.vocab, rank),
            "draft.confidence": (1, h + rank),
        }
    return table
