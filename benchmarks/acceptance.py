"""Mean accepted length of the trained drafters, beside n-grams that draft for the same target: a table.

`python -m benchmarks.acceptance` runs the embedded engine on held-out text. The accepted length of a verification
is what it commits, the accepted drafts and the target's own token behind them: 1 to K+1. A request's first
verification is not counted: what it verifies, nobody drafted yet.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch

from benchmarks.timing import say
from benchmarks.training.corpus import PROMPT, training_text
from harness.engine import Engine, Parts
from harness.engine.parts import Revise
from harness.engine.trained import TRAINED_DRAFT_LEN
from harness.host.graph_tape import tape_capture
from harness.scenario import WORKERS, Config

__all__ = ["DRAFTERS", "Measured", "Trigrams", "main", "measure"]

_BATCH = 4
_TRAINING_TEXTS = 1000  # of those trained on: every pair of tokens that there is came a hundred times


@dataclass
class Measured:
    """What a drafter's verifications committed, one number each, and the tokens of every request."""

    committed: list[int] = field(default_factory=list)
    outputs: dict[str, list[int]] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean accepted length."""
        return sum(self.committed) / len(self.committed)

    def place(self, index: int) -> float:
        """Return how often the draft in place `index`, from 0, was accepted."""
        return sum(length > index + 1 for length in self.committed) / len(self.committed)


class Trigrams:
    """The likeliest token after two, as counted in texts; after the last one alone where the two never came."""

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        self._after: dict[tuple[int, ...], Counter[int]] = {}
        for text in texts:
            for at in range(1, len(text)):
                for before in (tuple(text[max(0, at - 2) : at]), (text[at - 1],)):
                    self._after.setdefault(before, Counter())[text[at]] += 1

    def draft(self, text: Sequence[int], count: int) -> list[int]:
        """Return `count` tokens after `text`, each the likeliest after the two before it."""
        tokens = list(text[-2:])
        for _ in range(count):
            seen = self._after.get(tuple(tokens[-2:])) or self._after.get((tokens[-1],))
            tokens.append(seen.most_common(1)[0][0] if seen else 0)
        return tokens[2:]


def _trained_trigrams(engine: Engine) -> Revise:
    trigrams = Trigrams(training_text(_TRAINING_TEXTS).tolist())
    return lambda request, _, drafts: trigrams.draft(engine.text(request), len(drafts))


def _own_trigrams(engine: Engine) -> Revise:
    return lambda request, _, drafts: Trigrams([engine.text(request)]).draft(engine.text(request), len(drafts))


# name -> (worker, what drafts in its place)
DRAFTERS: dict[str, tuple[str, Callable[[Engine], Revise] | None]] = {
    "3-gram, of the training text": ("dflash", _trained_trigrams),
    "3-gram, of the request's own text": ("dflash", _own_trigrams),
    **{worker: (worker, None) for worker in WORKERS},
}


def measure(drafter: str, requests: int, steps: int, seed: int = 0) -> Measured:
    """Run so many requests on held-out text for so many counted verifications each, in batches of four."""
    torch.set_grad_enabled(False)
    worker, instead = DRAFTERS[drafter]
    longest = PROMPT + 1 + (steps + 1) * (TRAINED_DRAFT_LEN + 1)
    config = Config(
        worker, _BATCH, _BATCH, (), draft_len=TRAINED_DRAFT_LEN, max_seq_len=longest, seed=seed, weights="trained"
    )
    revise: list[Revise] = []  # it reads the texts of the engine that it is a part of
    engine = Engine(config, Parts(revise=lambda *told: revise[0](*told)) if instead else Parts(), tape_capture)
    if instead:
        revise.append(instead(engine))
    measured = Measured()
    for start in range(0, requests, _BATCH):
        names = [f"r{index}" for index in range(start, min(start + _BATCH, requests))]
        for name in names:
            engine.admit(name, PROMPT, ())
        for step in range(steps + 1):
            engine.step(None, False)
            if step:
                measured.committed += [state.accepted + 1 for state in engine.last.requests.values()]
        for name in names:
            measured.outputs[name] = engine.text(name)
            engine.finish(name)
    return measured


def main(requests: int, steps: int) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    say(f"held-out text, {requests} requests, {steps} verifications each, K={TRAINED_DRAFT_LEN}")
    places = "".join(f"{place:>6}" for place in range(1, TRAINED_DRAFT_LEN + 1))
    say(f"{'drafter':<36}{'mean accepted length':>21}   accepted by place{places}")
    for drafter in DRAFTERS:
        found = measure(drafter, requests, steps)
        rates = "".join(f"{found.place(place):>6.2f}" for place in range(TRAINED_DRAFT_LEN))
        say(f"{drafter:<36}{found.mean:>21.2f}{'':>20}{rates}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--steps", type=int, default=6, help="Verifications counted of each request.")
    given = parser.parse_args()
    main(given.requests, given.steps)
