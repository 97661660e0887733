"""All checks of a waiver file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.errors import Place
from harness.lists.checks.against import Against
from harness.lists.checks.copies import check_copies
from harness.lists.checks.finding import Finding, find, from_problems
from harness.lists.checks.listed import check_listed
from harness.lists.checks.names import check_names
from harness.lists.checks.order import check_order
from harness.lists.checks.prefixes import check_prefixes
from harness.lists.checks.reasons import check_reasons
from harness.lists.checks.timeouts import check_timeouts
from harness.lists.checks.upstream_notes import note_levels, note_readings
from harness.lists.text import WaiverFile

__all__ = ["MAX_FINDINGS", "bounded", "check_waivers", "in_order"]

MAX_FINDINGS = 10_000


def check_waivers(file: WaiverFile, against: Against) -> list[Finding]:
    """Everything there is to say of a waiver file: errors and warnings by place, then notes by place."""
    return in_order(bounded(_all(file, against)))


def _all(file: WaiverFile, against: Against) -> Iterator[Finding]:
    waivers = file.waivers
    yield from from_problems(file.problems, file.source)
    names = list(check_names(waivers, against.tests))
    yield from names
    # What does not exist is in no list and has no level: one finding is enough.
    missing = {finding.place for finding in names if finding.severity == "error"}
    yield from (finding for finding in check_listed(waivers, against.listed) if finding.place not in missing)
    yield from check_reasons(waivers, against)
    yield from check_copies(waivers)
    yield from check_prefixes(waivers, against.stages)
    yield from check_timeouts(waivers)
    yield from check_order(file)
    yield from note_readings(waivers)
    yield from (finding for finding in note_levels(waivers, against.tests) if finding.place not in missing)


def bounded(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings up to far more than a person can read, then one that says that there are more."""
    for count, finding in enumerate(findings):
        if count == MAX_FINDINGS:
            message = f"over {MAX_FINDINGS} findings; the rest is not shown"
            yield find("too-many", Place(finding.place.file), message, "is this a list?", subject="")
            return
        yield finding


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors and warnings by place, then notes by place."""
    return sorted(findings, key=lambda f: (f.severity == "note", f.place, f.code))
