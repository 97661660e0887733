"""Regression-test harness and reproducers for the speculative-decoding workers DFlash and DSpark."""

__version__ = "0.1.0"
