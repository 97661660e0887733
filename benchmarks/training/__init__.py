"""Trains the small weights that the engine opens with `weights: trained`: `python -m benchmarks.training`.

The target first, by cross entropy on text; then each drafter on what the trained target says after prompts. All
is seeded and on one thread: the same processor and version of torch give the same file.
"""
