"""Gradient descent on some weights: AdamW, a short warm-up, then a cosine down to nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from harness.engine.weights import Weights

__all__ = ["fit"]

_RATE = 3e-3
_WARM_UP = 100  # steps
_LARGEST_GRADIENT = 1.0
_SAID = 100  # steps from one line of progress to the next


def fit(name: str, weights: Weights, steps: int, loss_of: Callable[[torch.Generator], torch.Tensor]) -> None:
    """Change `weights` in `steps` steps; `loss_of` draws a batch by the generator and returns its loss."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(weights.values(), lr=_RATE, betas=(0.9, 0.98))
    for step in range(steps):
        part = min(1.0, (step + 1) / _WARM_UP) * 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.param_groups[0]["lr"] = _RATE * part
        loss = loss_of(generator)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), _LARGEST_GRADIENT)
        optimizer.step()
        if (step + 1) % _SAID == 0:
            print(f"{name} {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)  # noqa: T201
