"""Trained weights of target and drafters: a file in the safetensors format beside this module, and its sizes.

The format: eight bytes of length, a header in JSON that says of each tensor its type, shape and place, and the
numbers (https://huggingface.co/docs/safetensors). It is read here with the standard library, since a host may be
an interpreter with nothing but torch. `python -m benchmarks.training` trains and writes the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from harness.engine.shape import ModelShape
from harness.engine.weights import Weights, make_gate, matrix_sizes

__all__ = ["TRAINED_DRAFT_LEN", "TRAINED_FILE", "TRAINED_SHAPE", "read_safetensors", "trained_weights"]

TRAINED_SHAPE = ModelShape(
    vocab=49, hidden=48, intermediate=96, heads=4, kv_heads=2, head_dim=16, target_layers=3, taps=(0, 1),
    draft_layers=2, window=24, markov_rank=16,
)  # fmt: skip
TRAINED_DRAFT_LEN = 7  # K: a block of another width has other logits, and fewer of them accepted
TRAINED_FILE = Path(__file__).with_name("trained.safetensors")


def read_safetensors(data: bytes) -> Weights:
    """Return the float32 tensors of a file's bytes by name. Raises `ValueError` where they are none."""
    length = int.from_bytes(data[:8], "little")
    tensors: Weights = {}
    for name, told in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        if told["dtype"] != "F32":
            raise ValueError(f"{name} is of type {told['dtype']}, not F32")
        start, end = told["data_offsets"]
        values = torch.frombuffer(bytearray(data[8 + length + start : 8 + length + end]), dtype=torch.float32)
        tensors[name] = values.view(told["shape"])
    return tensors


def trained_weights(worker: str, seed: int, dtype: torch.dtype, device: str) -> Weights:
    """Return the trained weights of the target (`target.*`) and the worker's drafter (`draft.*`).

    `seed` matters to what is not trained alone, the gate of a recurrent state.
    """
    stored = read_safetensors(TRAINED_FILE.read_bytes())
    weights = {
        name: stored[name.replace("draft.", f"{worker}.", 1)].to(device, dtype)
        for name in matrix_sizes(TRAINED_SHAPE, worker)
    }
    weights["target.gate"] = make_gate(TRAINED_SHAPE, seed).to(device, dtype)
    return weights
