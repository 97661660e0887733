"""The options of a run that no other tree has, so that `-p harness.pytest_plugin` brings them everywhere."""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of results, shards and devices."""
    group = parser.getgroup("harness-run", "results, resuming, shards and devices")
    group.addoption("--results", metavar="FILE", help="append results to this log, JUnit beside it as .xml")
    group.addoption("--resume", action="store_true", help="go on from the log of --results")
    group.addoption("--shard", metavar="I/N", help="run the I-th of N shards, I from 1")
    group.addoption("--durations-file", metavar="FILE", help="seconds by test, which the shards are planned with")
    group.addoption("--no-confirm", action="store_true", help="do not run failures once more in a fresh process")
    group.addoption(
        "--gpu-wait", metavar="SECONDS", type=float, default=3600.0,
        help="how long a test waits for its GPUs (default: an hour); gpus(n) marks such tests",
    )  # fmt: skip
    group.addoption(
        "--gpu-memory-wait", metavar="SECONDS", type=float, default=30.0,
        help="how long it then waits for their memory to come back (default: 30)",
    )  # fmt: skip
    group.addoption("--fail-flaky", action="store_true", help="a flaky test fails the run too")
