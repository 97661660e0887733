"""Trains all of them and writes the file of weights: `python -m benchmarks.training [FILE]`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from safetensors.torch import save

from benchmarks.training.corpus import LENGTH, PROMPT, continued, training_text
from benchmarks.training.fitting import fit
from benchmarks.training.losses import drafter_loss, target_loss
from benchmarks.training.networks import Networks
from harness.engine.trained import TRAINED_DRAFT_LEN, TRAINED_FILE, TRAINED_SHAPE
from harness.engine.weights import Weights, make_weights
from harness.files import write_atomically
from harness.scenario import WORKERS

_TEXTS, _BATCH = 3000, 32
_CONTINUED, _BLOCKS = 1500, 4  # texts that the target continues; blocks of a text in a batch
_TARGET_STEPS, _DRAFTER_STEPS = 1000, 400


def _untrained(model: str, worker: str) -> Weights:
    """Return the hashed weights of one model, from which training starts."""
    weights = make_weights(TRAINED_SHAPE, worker, 0, torch.float32, "cpu")
    return {
        name: weight.requires_grad_()
        for name, weight in weights.items()
        if name.startswith(f"{model}.") and name != "target.gate"
    }


def _train_target(texts: torch.Tensor) -> Weights:
    weights = _untrained("target", "dflash")
    networks = Networks(TRAINED_SHAPE, weights, LENGTH)

    def loss_of(generator: torch.Generator) -> torch.Tensor:
        return target_loss(networks, texts[torch.randint(len(texts), (_BATCH,), generator=generator)])

    fit("target", weights, _TARGET_STEPS, loss_of)
    return {name: weight.detach() for name, weight in weights.items()}


def _train_drafter(worker: str, target: Weights, texts: torch.Tensor) -> Weights:
    weights = _untrained("draft", worker)
    networks = Networks(TRAINED_SHAPE, target | weights, LENGTH + TRAINED_DRAFT_LEN + 1)

    def loss_of(generator: torch.Generator) -> torch.Tensor:
        batch = texts[torch.randint(len(texts), (_BATCH,), generator=generator)]
        last = LENGTH - TRAINED_DRAFT_LEN  # behind it there is no label for every place
        anchors = torch.randint(PROMPT - 2, last, (_BATCH, _BLOCKS), generator=generator)
        return drafter_loss(networks, worker, batch, anchors, TRAINED_DRAFT_LEN)

    fit(worker, weights, _DRAFTER_STEPS, loss_of)
    return {name.replace("draft", worker, 1): weight.detach() for name, weight in weights.items()}


def main(path: Path) -> None:
    """Train target, DFlash and DSpark, and write their weights to `path`."""
    torch.set_num_threads(1)
    start = time.process_time()
    texts = training_text(_TEXTS)
    target = _train_target(texts)
    own = continued(Networks(TRAINED_SHAPE, target, LENGTH), texts[:_CONTINUED])
    weights = dict(target)
    for worker in WORKERS:
        weights |= _train_drafter(worker, target, own)
    write_atomically(path, save(weights))
    print(f"{path}: {path.stat().st_size} bytes, {time.process_time() - start:.0f} s of processor")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=TRAINED_FILE)
    main(parser.parse_args().file)
