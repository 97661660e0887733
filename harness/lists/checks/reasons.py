"""Why a test is waived, and until when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from harness.lists.checks.against import Against
from harness.lists.checks.finding import Finding, find, named
from harness.lists.model import Marker, MarkerName, Waiver
from harness.lists.reason import bug_number

__all__ = ["OUTCOMES", "check_reasons"]

OUTCOMES: tuple[MarkerName, ...] = ("SKIP", "XFAIL", "UNSTABLE")
"""The markers that say what is made of a test's result."""

# What people write when they mean a bug: `nvbug 6535874`, `https:/nvbugs/1`, a bare number of seven digits.
_MEANT_BUG = re.compile(r"\bnv[\s_-]?bugs?\w*|^\s*#?\d{6,8}\s*$", re.IGNORECASE | re.ASCII)
_DIGITS = re.compile(r"(?<!\d)\d{6,8}(?!\d)", re.ASCII)


def check_reasons(waivers: Iterable[Waiver], against: Against) -> Iterator[Finding]:
    """Check marker, reason, bug, owner and date of every waiver."""
    for waiver in waivers:
        outcomes = [marker for marker in waiver.markers if marker.name in OUTCOMES]
        if not outcomes:
            message = f"{' and '.join(m.name for m in waiver.markers)} alone waives nothing"
            expected = "add SKIP, XFAIL or UNSTABLE, or move the marker to a test list"
            yield find("no-outcome", waiver.markers[0].token.place, message, expected, subject=named(waiver))
            continue
        if len(outcomes) > 1:
            message = f"{' and '.join(m.name for m in outcomes)} on one line"
            yield find("two-outcomes", outcomes[1].token.place, message, "keep one", subject=named(waiver))
        yield from _reason(waiver, outcomes[0])
        yield from _life(waiver, outcomes[0], against)


def _reason(waiver: Waiver, marker: Marker) -> Iterator[Finding]:
    reason = waiver.reason
    if not reason.text:
        message = f"{marker.name} does not say why"
        expected = f"write {marker.name} (https://nvbugs/<number>)"
        yield find("no-reason", marker.token.place, message, expected, subject=named(waiver))
        return
    place = marker.value.place if marker.value else marker.token.place
    unreadable = reason.bug if "nvbugs" in reason.bug and not bug_number(reason.bug) else ""
    meant = unreadable or (reason.note if not reason.bug and _MEANT_BUG.search(reason.note) else "")
    if meant:
        digits = _DIGITS.search(meant)
        expected = f"did you mean https://nvbugs/{digits[0]}?" if digits else "write https://nvbugs/<number>"
        yield find("malformed-bug", place, f"'{meant[:80]}' is no bug", expected, subject=named(waiver))
    elif not reason.bug:
        message = f"the reason '{reason.text[:60]}' names no bug"
        yield find("no-bug", place, message, "add https://nvbugs/<number>", subject=named(waiver))


def _life(waiver: Waiver, marker: Marker, against: Against) -> Iterator[Finding]:
    reason = waiver.reason
    place = marker.value.place if marker.value else marker.token.place
    if reason.until and reason.until < against.today:
        message = f"expired on {reason.until}, {(against.today - reason.until).days} days ago"
        expected = "remove the line, or set a new date"
        yield find("expired", place, message, expected, subject=named(waiver))
    if against.require_owner and not reason.owner:
        yield find("no-owner", place, "nobody owns it", "add '; owner=<team>'", subject=named(waiver))
    state = against.bugs.find(reason.bug) if against.bugs and reason.bug else None
    if state and state.is_closed:
        when = f" since {state.closed_on}" if state.closed_on else ""
        message = f"bug {state.number} is {state.state}{when}"
        expected = "run the test and remove the line, or reopen the bug"
        yield find("closed-bug", place, message, expected, subject=named(waiver))
