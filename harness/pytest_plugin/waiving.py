"""What a waiver or a list entry does to a test: marks, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lists import Waiver, WaiverIndex, read_waives
from harness.pytest_plugin.selection import Chosen

__all__ = ["apply_timeouts", "apply_waivers", "read_index"]


def read_index(file: str, stage: str) -> WaiverIndex:
    """Read a waiver file for one stage. Raises `UsageError` at its first broken line."""
    waives = read_waives(Path(file))
    errors = [problem for problem in waives.problems if problem.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more: `harness waives check`)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0]}{more}")
    return WaiverIndex(waives.waivers, stage)


def apply_waivers(chosen: Sequence[Chosen], index: WaiverIndex) -> None:
    """Mark waived tests: SKIP skips, XFAIL must fail, UNSTABLE runs and never fails the run."""
    for item, entries in ((one.item, one.entries) for one in chosen):
        applied = index.find(item.nodeid, entries)
        if applied is None:
            continue
        waiver = applied.waiver
        reason = f"waived: {waiver.reason.text or 'no reason given'} [{waiver.place}]"
        if waiver.marker("SKIP"):
            item.add_marker(pytest.mark.skip(reason=reason))
        elif waiver.marker("XFAIL"):
            item.add_marker(pytest.mark.xfail(reason=f"{reason}; it passes: remove the waiver", strict=True))
        elif waiver.marker("UNSTABLE"):
            item.add_marker(pytest.mark.xfail(reason=f"unstable, {reason}", strict=False))
        _limit(item, waiver)


def apply_timeouts(chosen: Sequence[Chosen]) -> None:
    """Give each test the longest limit that one of its entries sets."""
    for one in chosen:
        limits = [entry.timeout for entry in one.entries if entry.timeout]
        if limits:
            one.item.add_marker(pytest.mark.timeout(max(limits)))


def _limit(item: pytest.Item, waiver: Waiver) -> None:
    if waiver.timeout:
        item.add_marker(pytest.mark.timeout(waiver.timeout))
