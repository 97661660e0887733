"""The text that the trained models were trained on and that their requests' prompts are: transposed motifs.

A motif of p symbols is repeated for ever, each time c symbols higher, modulo n: x[t] = x[t-p] + c. So the steps
x[t+1] - x[t] have the period p, and a text is told by its first symbol and by one round of steps, its melody. A
step is one of a few: the token before says which few may come next, a period back the text says which one does.
"""

from __future__ import annotations

from harness.engine.weights import hashed_number, hashed_stream

__all__ = ["PERIODS", "STEPS", "SYMBOLS", "TRANSPOSED", "Motif", "is_held_out", "make_motif", "make_text"]

SYMBOLS = 48  # n
TRANSPOSED = 5  # c, coprime to n: nothing comes again before n periods
PERIODS = (6, 7, 8, 9)
STEPS = (1, 4, 9, 15, 22, 29, 37, 44)

Motif = tuple[int, ...]


def make_motif(name: str, seed: int, *, held_out: bool) -> Motif:
    """Return a motif as a function of the arguments alone; `held_out` says from which half of all melodies."""
    draws = hashed_stream(name, seed)
    period = PERIODS[next(draws) % len(PERIODS)]
    while True:
        notes = [next(draws) % SYMBOLS]
        for _ in range(period - 1):
            notes.append((notes[-1] + STEPS[next(draws) % len(STEPS)]) % SYMBOLS)
        closing = (notes[0] + TRANSPOSED - notes[-1]) % SYMBOLS
        if closing in STEPS and is_held_out(tuple(notes)) is held_out:
            return tuple(notes)


def is_held_out(motif: Motif) -> bool:
    """Return whether no text of the motif's melody, from whatever note on, is trained on: half of all melodies."""
    following = (*motif[1:], motif[0] + TRANSPOSED)
    steps = [(after - note) % SYMBOLS for note, after in zip(motif, following, strict=True)]
    rounds = [steps[start:] + steps[:start] for start in range(len(steps))]
    return hashed_number(str(min(rounds)), 0) % 2 == 1


def make_text(motif: Motif, count: int) -> list[int]:
    """Return the first `count` tokens, each below SYMBOLS, of the text of a motif."""
    period = len(motif)
    return [(motif[at % period] + TRANSPOSED * (at // period)) % SYMBOLS for at in range(count)]
