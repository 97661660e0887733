"""All checks of test lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from harness.lists.checks.against import Against
from harness.lists.checks.contexts import check_contexts
from harness.lists.checks.expressions import check_expressions
from harness.lists.checks.finding import Finding, from_problems
from harness.lists.checks.names import check_names
from harness.lists.checks.selections import check_entries, check_selections
from harness.lists.checks.timeouts import check_timeouts
from harness.lists.checks.upstream_notes import note_readings
from harness.lists.checks.waivers import bounded, in_order
from harness.lists.model import Entry
from harness.lists.testdb import TestDbFile
from harness.lists.text import TestList

__all__ = ["check_test_db", "check_test_list"]


def check_test_db(file: TestDbFile, against: Against) -> list[Finding]:
    """Everything there is to say of one YAML file of a test-db."""
    entries = [entry for block in file.blocks for entry in block.entries]
    found = chain(
        from_problems(file.problems, file.source),
        check_contexts(file, against.stages),
        check_selections(file.blocks, against.stages),
        _entries(entries, against),
    )
    return in_order(bounded(found))


def check_test_list(file: TestList, against: Against) -> list[Finding]:
    """Everything there is to say of a flat list."""
    found = chain(
        from_problems(file.problems, file.source),
        check_entries(file.entries),
        _entries(file.entries, against),
    )
    return in_order(bounded(found))


def _entries(entries: Sequence[Entry], against: Against) -> Iterator[Finding]:
    yield from check_names(entries, against.tests)
    yield from check_expressions(entries, against.tests)
    yield from check_timeouts(entries)
    yield from note_readings(entries)
