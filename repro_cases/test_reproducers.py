"""One test a bug, worker and regime; every order inside it is a subtest. One waiver line covers one bug."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.catalogue import load_catalogue, load_reproducer

_TESTS = [
    pytest.param(entry.bug, worker, regime, id=f"{entry.bug}-{worker}-{regime}")
    for entry in load_catalogue()
    for reproducer in [load_reproducer(entry)]
    for worker in reproducer.workers
    for regime in reproducer.regimes
]


@pytest.mark.parametrize(("bug", "worker", "regime"), _TESTS)
def test_bug(bug: str, worker: str, regime: str, check_bug: Callable[[str, str, str], None]) -> None:
    """All invariants hold in every case of the bug."""
    check_bug(bug, worker, regime)
