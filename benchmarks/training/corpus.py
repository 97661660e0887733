"""What is trained on: texts of melodies that are not held out, and the target's own continuations of them."""

from __future__ import annotations

import torch

from benchmarks.training.networks import Networks
from harness.engine.text import make_motif, make_text

__all__ = ["LENGTH", "PROMPT", "continued", "training_text"]

LENGTH = 56  # tokens of a text: six periods of the longest motif
PROMPT = 20  # tokens given: two periods of most, so that the target knows the melody
_CHUNK = 250  # texts continued side by side


def training_text(count: int, length: int = LENGTH) -> torch.Tensor:
    """Return int64 [count,length]: different texts, none of a held-out melody."""
    texts = [make_text(make_motif(f"training {index}", 0, held_out=False), length) for index in range(count)]
    return torch.tensor(texts)


@torch.no_grad()
def continued(target: Networks, texts: torch.Tensor) -> torch.Tensor:
    """Return [B,T] texts of the same length whose tokens from PROMPT on are the target's own likeliest."""
    done = []
    for chunk in texts.split(_CHUNK):
        tokens = chunk[:, :PROMPT]
        while tokens.shape[1] < texts.shape[1]:
            tokens = torch.cat([tokens, target.target(tokens)[0][:, -1:].argmax(-1)], 1)
        done.append(tokens)
    return torch.cat(done)
