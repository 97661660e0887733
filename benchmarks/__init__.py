"""Measurements and comparisons, each runnable by itself: `python -m benchmarks.NAME`."""
