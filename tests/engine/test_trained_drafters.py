"""The trained models draft: on text that nobody trained on, drafts are accepted and the output is the target's."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_models import Naive

from benchmarks.acceptance import Measured, measure
from benchmarks.training.corpus import PROMPT, training_text
from benchmarks.training.networks import Blocks, Networks
from harness.engine import models, trained
from harness.engine.text import PERIODS, STEPS, SYMBOLS, TRANSPOSED, is_held_out, make_motif, make_text
from harness.engine.trained import (
    TRAINED_DRAFT_LEN,
    TRAINED_FILE,
    TRAINED_SHAPE,
    read_safetensors,
    trained_weights,
)
from harness.scenario import WORKERS

torch.set_num_threads(1)
REQUESTS, STEPS_EACH = 8, 5
NAMES = st.text(max_size=5)
MOTIFS = st.builds(lambda name, held_out: make_motif(name, 0, held_out=held_out), NAMES, st.booleans())


@lru_cache
def measured(drafter: str) -> Measured:
    return measure(drafter, REQUESTS, STEPS_EACH)


@lru_cache
def naive(worker: str) -> Naive:
    return Naive(TRAINED_SHAPE, trained_weights(worker, 0, torch.float64, "cpu"))


def test_where_trigrams_get_next_to_nothing_dflash_gets_far_and_dspark_no_less() -> None:
    assert measured("3-gram, of the training text").mean <= 1.3
    assert measured("3-gram, of the request's own text").mean <= 1.3
    assert measured("dflash").mean >= 2.5
    assert measured("dspark").mean >= measured("dflash").mean


@pytest.mark.parametrize("worker", WORKERS)
def test_what_is_drafted_and_accepted_is_what_plain_greedy_decoding_gives(worker: str) -> None:
    found = measured(worker)
    assert len(found.outputs) == REQUESTS
    assert len(found.committed) == REQUESTS * STEPS_EACH
    for name in ("r0", "r7"):
        tokens = found.outputs[name]
        assert tokens[:PROMPT] == make_text(make_motif(name, 0, held_out=True), PROMPT)
        assert tokens == naive(worker).greedy(tokens[:PROMPT], len(tokens) - PROMPT)


def test_confidence_is_higher_where_a_draft_turns_out_right() -> None:
    sure: dict[bool, list[float]] = {True: [], False: []}
    for index in range(12):
        text = make_text(make_motif(f"sure {index}", 0, held_out=True), 40)
        drafts, confidence = naive("dspark").dspark(text[:26], TRAINED_DRAFT_LEN, TRAINED_SHAPE.window)
        for draft, right, how_sure in zip(drafts, text[26:], confidence, strict=False):
            sure[draft == right].append(how_sure)
            if draft != right:
                break
    assert fmean(sure[True]) > fmean(sure[False]) + 0.1


@given(motif=MOTIFS)
def test_a_text_repeats_its_motif_higher_each_time_by_steps_that_any_text_may_take(motif: tuple[int, ...]) -> None:
    assert len(motif) in PERIODS
    text = make_text(motif, 40)
    for at in range(1, 40):
        assert (text[at] - text[at - 1]) % SYMBOLS in STEPS
        if at >= len(motif):
            assert text[at] == (text[at - len(motif)] + TRANSPOSED) % SYMBOLS


@given(motif=MOTIFS, start=st.integers(0, 20), higher=st.integers(0, SYMBOLS - 1))
def test_a_melody_is_held_out_from_whatever_note_on_and_however_high(
    motif: tuple[int, ...], start: int, higher: int
) -> None:
    later = make_text(motif, start + len(motif))[start:]
    assert is_held_out(tuple((note + higher) % SYMBOLS for note in later)) == is_held_out(motif)


def test_nothing_is_trained_on_that_a_prompt_may_be() -> None:
    # The first note of a text tells its period by where the text is as much higher.
    for text in training_text(200).tolist():
        period = next(
            p for p in PERIODS if all(text[t] == (text[t - p] + TRANSPOSED) % SYMBOLS for t in range(p, 56))
        )
        assert not is_held_out(tuple(text[:period]))
    assert all(is_held_out(make_motif(f"r{index}", 0, held_out=True)) for index in range(200))


@settings(max_examples=10, deadline=None)
@given(name=NAMES, at=st.integers(9, 30), worker=st.sampled_from(WORKERS))
def test_the_networks_that_are_trained_are_the_engines_models(name: str, at: int, worker: str) -> None:
    torch.set_grad_enabled(False)
    text = make_text(make_motif(name, 0, held_out=True), at + 1)
    weights = trained_weights(worker, 0, torch.float32, "cpu")
    networks, tokens = Networks(TRAINED_SHAPE, weights, 64), torch.tensor([text])
    logits, states = networks.target(tokens)
    anchors = torch.tensor([[at]])
    torch.testing.assert_close(logits[0], naive(worker).target(text)[0].float(), atol=1e-3, rtol=0)
    if worker == "dflash":
        hidden = networks.block(tokens, states, Blocks(anchors, TRAINED_DRAFT_LEN + 1), None)
        drafted = networks.head(hidden[0, 0, 1:])
        wanted = naive(worker).dflash(text, TRAINED_DRAFT_LEN).float()
        torch.testing.assert_close(drafted, wanted, atol=1e-3, rtol=0)
        return
    hidden = networks.block(tokens, states, Blocks(anchors, TRAINED_DRAFT_LEN), TRAINED_SHAPE.window)
    drafts, confidence = naive(worker).dspark(text, TRAINED_DRAFT_LEN, TRAINED_SHAPE.window)
    biased, sure = networks.chained(hidden[0, 0], torch.tensor([text[-1], *drafts[:-1]]))
    assert biased.argmax(-1).tolist() == drafts
    torch.testing.assert_close(sure.sigmoid(), torch.tensor(confidence), atol=1e-3, rtol=0)


def test_the_file_is_small_and_reads_as_the_formats_own_library_reads_it() -> None:
    library = pytest.importorskip("safetensors.torch", reason="needs `pip install 'specdec-harness[dev]'`")
    data = TRAINED_FILE.read_bytes()
    assert len(data) < 2_000_000
    ours, theirs = read_safetensors(data), library.load(data)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_file_of_another_type_is_refused_by_the_name_of_what_is_wrong_in_it() -> None:
    header = json.dumps({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    with pytest.raises(ValueError, match="a is of type BF16, not F32"):
        read_safetensors(len(header).to_bytes(8, "little") + header + b"\0\0")


@pytest.mark.slow
def test_the_script_trains_weights_as_good_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.training.__main__ import main

    torch.set_grad_enabled(True)
    main(tmp_path / "again.safetensors")
    monkeypatch.setattr(trained, "TRAINED_FILE", tmp_path / "again.safetensors")
    models._load.cache_clear()
    try:
        dflash, dspark = (measure(worker, REQUESTS, STEPS_EACH).mean for worker in WORKERS)
    finally:
        models._load.cache_clear()
    assert dspark >= dflash >= 2.5
