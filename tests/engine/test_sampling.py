"""Rejection sampling is lossless in distribution, and noise is a function of seed, position and stream alone."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import product
from typing import Any

import pytest
import torch
from engine_rig import capture_all, config_of, naive_of, open_engine

from harness.engine import Engine, ModelShape, Parts
from harness.engine.sampling import Rows, Stream, residual, sample, uniform, verify_sampled
from harness.engine.weights import hashed_ids
from harness.scenario import Config

Tensor = torch.Tensor
VOCAB, K = 3, 2


def _grid(size: int) -> Tensor:
    return (torch.arange(size, dtype=torch.float64) + 0.5) / size


def _eighths(*parts: int) -> Tensor:
    assert sum(parts) == 8
    return torch.tensor(parts, dtype=torch.float64) / 8


# Target distributions after the anchor, after one more token, after two more: in eighths.
P0 = _eighths(4, 3, 1)
P1 = torch.stack([_eighths(1, 5, 2), _eighths(8, 0, 0), _eighths(2, 2, 4)])
P2 = torch.stack([_eighths(3, 3, 2), _eighths(0, 1, 7), _eighths(5, 2, 1)])
# Drafts' distributions: halves and quarters, so that every p/q is a multiple of a quarter.
DRAFTED = {
    "different": (_eighths(2, 4, 2), _eighths(4, 2, 2)),
    "one-hot": (_eighths(0, 8, 0), _eighths(8, 0, 0)),
    "disjoint from the target's": (_eighths(2, 4, 2), _eighths(0, 8, 0)),
}
ACCEPT, TOKEN = 8, 840  # grid points: multiples of 1/8 are exact on the first, of 1/1..1/8 on the second


def _all_outcomes(q: tuple[Tensor, Tensor], length: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each committed sequence, by running every draft with every point of the noise."""
    u1, u2, v = (
        each.flatten() for each in torch.meshgrid(_grid(ACCEPT), _grid(ACCEPT), _grid(TOKEN), indexing="ij")
    )
    found: dict[tuple[int, ...], float] = {}
    for first, second in product(range(VOCAB), repeat=2):
        weight = float(q[0][first] * q[1][second])
        if not weight:
            continue

        def noise(seeds: Tensor, positions: Tensor, stream: int) -> Tensor:
            del seeds, positions
            return torch.stack([u1, u2], 1) if stream == Stream.ACCEPT else v

        count = u1.shape[0]
        tokens = torch.tensor([[0, first, second]]).expand(count, -1)
        logits = torch.stack([P0, P1[first], P2[second]]).log().expand(count, -1, -1)
        rows = Rows(torch.zeros(count, dtype=torch.int64), torch.ones(count, dtype=torch.float64), noise)
        chosen, committed = verify_sampled(
            tokens, logits, torch.zeros(count, dtype=torch.int64), torch.full((count,), length),
            torch.stack(q).expand(count, -1, -1), rows,
        )  # fmt: skip
        kept = torch.where(torch.arange(K + 1) < committed[:, None], chosen, -1)
        for row, times in zip(*torch.unique(kept, dim=0, return_counts=True), strict=True):
            sequence = tuple(token for token in row.tolist() if token >= 0)
            found[sequence] = found.get(sequence, 0.0) + weight * int(times) / count
    return found


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("name", DRAFTED)
def test_every_outcome_counted_gives_exactly_the_targets_distribution(name: str, length: int) -> None:
    found = _all_outcomes(DRAFTED[name], length)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    for depth in (1, 2, 3):
        for prefix in product(range(VOCAB), repeat=depth - 1):
            # Of those that committed so many tokens, the next is the target's, whatever was drafted.
            target = P0 if depth == 1 else (P1 if depth == 2 else P2)[prefix[-1]]
            going_on = {seq: p for seq, p in found.items() if len(seq) >= depth and seq[: depth - 1] == prefix}
            mass = sum(going_on.values())
            for token in range(VOCAB):
                got = sum(p for seq, p in going_on.items() if seq[depth - 1] == token)
                assert got == pytest.approx(mass * float(target[token]), abs=1e-12)


def test_a_draft_from_the_targets_own_distribution_is_always_accepted_and_an_impossible_one_never() -> None:
    own = _all_outcomes((P0, _eighths(4, 2, 2)), 1)
    assert {len(sequence) for sequence in own} == {2}
    impossible = _all_outcomes((_eighths(0, 0, 8), _eighths(0, 8, 0)), 2)  # P1 after 2 is 2, 2, 4 eighths
    assert sum(p for sequence, p in impossible.items() if len(sequence) > 1) == pytest.approx(1 / 8)
    p = _eighths(4, 2, 2)[None]
    assert torch.equal(residual(p, torch.zeros_like(p)), p)
    assert torch.equal(residual(p, p), p)  # nothing is left of it: the target's own


SMALL = ModelShape(vocab=6, hidden=8, intermediate=8, target_layers=2, taps=(0,))
NAMES, ROUNDS, LENGTH = ("r0", "r1", "r2", "r3"), 300, 3
NOISE = [0.6968912266311272, 0.422068959406493, 0.1308751716106361]
PLACES = [(0,), (1,), (2,), (0, 1), (1, 2)]
# Five statistics are compared with their quantiles at one in ten thousand: a right engine fails for one choice of
# seeds in two thousand; these seeds are fixed.
DEVIATES = 3.719  # standard deviates of that quantile


def _sampled(worker: str, **parts: Any) -> dict[str, list[tuple[int, ...]]]:
    """Return the first tokens of four requests in a batch, under many seeds; the third may have been drafted."""
    turn = 0

    def next_seed(request: str, base: int) -> int:
        del base
        return turn * len(NAMES) + NAMES.index(request)

    config = Config(worker, 4, 4, (4,), draft_len=2, max_seq_len=24, sampling=True)
    engine = open_engine(config, Parts(seed_of=next_seed, temperature_of=lambda *_: 1.0, **parts), SMALL)
    engine.capture(4)
    seen: dict[str, list[tuple[int, ...]]] = {name: [] for name in NAMES}
    for _ in range(ROUNDS):
        for name in NAMES:
            engine.admit(name, 3, ())
        for _ in range(LENGTH - 1):
            engine.step(None, True)
        for name in NAMES:
            seen[name].append(tuple(engine.output(name)[:LENGTH]))
            engine.finish(name)
        turn += 1
    return seen


@lru_cache(maxsize=8)
def _expected(worker: str, name: str) -> dict[tuple[int, ...], float]:
    """Return the exact probability of every sequence of first tokens."""
    naive, prompt = naive_of(worker, SMALL), hashed_ids(name, 3, SMALL.mask_token, 0)
    known: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(LENGTH):
        known = {
            (*sequence, token): chance * p
            for sequence, chance in known.items()
            for token, p in enumerate(naive.target([*prompt, *sequence])[0][-1].softmax(-1).tolist())
        }
    return known


def _marginal(chances: dict[tuple[int, ...], float], places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    result: dict[tuple[int, ...], float] = {}
    for sequence, chance in chances.items():
        key = tuple(sequence[place] for place in places)
        result[key] = result.get(key, 0.0) + chance
    return result


def _excess(worker: str, seen: dict[str, list[tuple[int, ...]]], places: tuple[int, ...]) -> float:
    """Return Pearson's chi-square of the tokens at `places`, all requests together, less its quantile.

    Cells that expect fewer than five are one; the quantile is Wilson and Hilferty's.
    """
    statistic, freedom = 0.0, 0
    for name, sequences in seen.items():
        cells: dict[tuple[int, ...] | None, list[float]] = {}
        counts = Counter(tuple(sequence[place] for place in places) for sequence in sequences)
        for key, chance in _marginal(_expected(worker, name), places).items():
            cell = cells.setdefault(key if ROUNDS * chance >= 5 else None, [0.0, 0.0])
            cell[0] += counts[key]
            cell[1] += ROUNDS * chance
        statistic += sum((got - due) ** 2 / due for got, due in cells.values())
        freedom += len(cells) - 1
    spread = 2 / (9 * freedom)
    return statistic - freedom * (1 - spread + DEVIATES * math.sqrt(spread)) ** 3


def _too_far(worker: str, **parts: Any) -> list[tuple[int, ...]]:
    seen = _sampled(worker, **parts)
    return [places for places in PLACES if _excess(worker, seen, places) > 0]


@pytest.mark.parametrize("worker", ["dflash", "dspark"])
def test_sampled_tokens_have_the_targets_distribution(worker: str) -> None:
    assert _too_far(worker) == []


def test_the_statistic_sees_a_rule_that_accepts_too_much() -> None:
    assert (2,) in _too_far("dflash", accept_sampled=lambda u, p, q: u * q < 2 * p)


def test_the_statistic_sees_a_rejected_draft_replaced_by_the_targets_own_distribution() -> None:
    assert (2,) in _too_far("dflash", residual=lambda p, q: p)


def test_noise_is_uniform_and_its_streams_are_apart() -> None:
    seeds, positions = torch.arange(64)[:, None], torch.arange(64)
    streams = [uniform(seeds, positions, stream).flatten() for stream in Stream]
    for one in streams:
        assert 0 <= float(one.min()) < float(one.max()) < 1
        assert float(one.mean()) == pytest.approx(0.5, abs=0.02)
        assert torch.unique(one).numel() == one.numel()
    stacked = torch.corrcoef(torch.stack(streams))
    assert float((stacked - torch.eye(3, dtype=torch.float64)).abs().max()) < 0.05


def test_noise_is_the_same_number_on_every_machine() -> None:
    got = uniform(torch.tensor([0, 7, -3]), torch.tensor([0, 5, 1 << 40]), Stream.DRAFT)
    assert got.tolist() == NOISE


def test_a_draw_is_the_inverse_of_the_distribution() -> None:
    weights = torch.tensor([[1.0, 0.0, 2.0, 1.0]], dtype=torch.float64).expand(5, -1)
    u = torch.tensor([0.0, 0.249, 0.25, 0.74, 0.999999], dtype=torch.float64)
    assert sample(weights, u).tolist() == [0, 0, 2, 2, 3]


def _outputs(engine: Engine, names: tuple[str, ...], graph: bool) -> dict[str, list[int]]:
    if graph:
        capture_all(engine)
    for name in names:
        engine.admit(name, 4, ())
    for _ in range(4):
        engine.step(names, None)
    return {name: engine.output(name) for name in names}


@pytest.mark.parametrize("worker", ["dflash", "dspark"])
def test_what_is_sampled_does_not_depend_on_batch_seat_or_graph(worker: str) -> None:
    together = _outputs(open_engine(config_of(worker, sampling=True)), ("r0", "r1", "r2"), graph=True)
    eager = _outputs(open_engine(config_of(worker, sampling=True)), ("r2", "r0", "r1"), graph=False)
    assert together == eager
    for name, output in together.items():
        assert _outputs(open_engine(config_of(worker, sampling=True)), (name,), graph=False)[name] == output
    assert len({tuple(output) for output in together.values()}) == 3


def test_temperatures_are_a_requests_own() -> None:
    cold = Parts(temperature_of=lambda name, seed: 1e-3)
    engine = open_engine(config_of("dflash", sampling=True), cold)
    plain = open_engine(config_of("dflash"))
    sampled, greedy = (_outputs(each, ("r0", "r1"), graph=False) for each in (engine, plain))
    for name in sampled:
        count = min(len(sampled[name]), len(greedy[name]))
        assert sampled[name][:count] == greedy[name][:count]
