"""Every finding there is: code, severity, what it means and what to do. The one table behind `--select`, the
documentation and SARIF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from harness.lists.checks.rules_of_reading import READING

__all__ = ["RULES", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]
"""Errors and warnings make a check fail, notes do not."""


class Rule(NamedTuple):
    """What a code means. `title` completes "this is about ...", `help` says why it matters and the remedy."""

    code: str
    severity: Severity
    title: str
    help: str


# `code severity`, then indented a line with the title and lines of help.
_NAMES = """
unknown-folder error
    a folder that is not there
    Nothing below it runs or is waived. Give an existing folder.
unknown-file error
    a file that is not there
    Upstream ignores a waiver of a missing file in silence and stops at such a list entry. Give the path
    that the lists' other entries start from, such as `accuracy/...`.
unknown-class error
    a class that its file does not have
    Often the name of the module written a second time. Name the class, or no class for a function.
unknown-test error
    a test that its file or class does not have
    The test was renamed, moved or deleted. Follow it with `harness waives rename`, or take the line out
    with `harness waives remove`.
unknown-parameter error
    parameters that the test does not have
    The parameters were renamed, or belong to another test. Copy the id from `pytest --collect-only -q`.
truncated-parameter error
    parameters that are only the start of an id
    The id was cut, so it is no id. Copy it whole.
no-file error
    a name without a file
    An id starts with the path of its file. A class or function alone names nothing; some generators
    leave the path out.
not-a-test-id error
    the name of a C++ test
    gtest names such as `Suite.Name` stand in the JUnit files of C++ tests, but no pytest id is made of
    them. Waive the pytest test that runs the C++ binary.
unverifiable note
    a name that cannot be verified
    Its parameters or its class are made at run time, so that reading the source does not tell. That is
    not "wrong": give `--tests` with collected ids to have it verified.
matches-nothing warning
    an expression that no test fulfils
    The entry names existing tests, but `-k` deselects every one of them, so that nothing runs. Correct
    the expression.
"""

_WAIVERS = """
no-reason error
    a waiver that does not say why
    Without a reason nobody can tell when it may go. Write `SKIP (https://nvbugs/<number>)`.
no-bug warning
    a reason without a bug
    Free text is allowed, but nobody is told when the fault is repaired. Name the bug beside the text.
malformed-bug error
    something that looks like a bug, but is none
    It cannot be compared with a tracker. Write `https://nvbugs/<number>` or the whole URL.
expired error
    a waiver whose `until` has passed
    The team that wrote it wanted it gone by then. Repair the test, take the line out, or give it a new
    date.
no-owner error
    a waiver without an owner
    Only with `--require-owner`. Write `SKIP (https://nvbugs/<number>; owner=<team>)`.
closed-bug error
    a waiver of a bug that is closed
    Only with `--bug-states`. Run the test and take the line out, as `harness waives prune --bug-states`
    does, or reopen the bug.
two-outcomes error
    a line with more than one outcome
    SKIP, XFAIL and UNSTABLE exclude each other. Keep one.
no-outcome error
    a waiver that waives nothing
    TIMEOUT and ISOLATION say how a test runs and belong into a test list. Add SKIP, XFAIL or UNSTABLE.
duplicate error
    the same waiver a second time
    Upstream keeps the last line in silence, so an edit of the first does nothing. Take one out.
conflict error
    two waivers of one test and place that disagree
    They differ in bug or outcome, and only the last counts. Decide, and keep one line with both bugs if
    both are true.
shadowed warning
    a waiver inside a wider one
    A waiver of the function, class, file or folder already says the same. Take the narrow line out, or
    the wide one.
redundant warning
    a copy for one prefix of what is waived everywhere
    The line without prefix reaches every stage. Take the prefixed line out, or limit the other one.
unknown-prefix error
    a prefix that seems misspelt
    Only with `--stages`. A prefix must be the part of a stage's name before the first `-`, letter for
    letter.
dead-prefix error
    a prefix that reaches no stage
    Only with `--stages`. A prefix is compared with the head of a stage's name; it is neither a GPU
    architecture nor a part of a name, so `full:H100/` does not reach `H100_PCIe-PyTorch-1`.
unsorted warning
    a line that is not in its place
    In a sorted file two people who add a line rarely meet. `harness waives fmt` sorts, `harness waives
    add` inserts in the right place.
unlisted-waiver error
    a waiver of a test that no list runs
    Only with `--lists`. Nothing can fail that does not run: the list entry was removed or renamed and
    the waiver left behind. Take it out.
"""

_LISTS = """
wrong-context error
    a context unlike its file's name
    The context is looked up by the name of the file; one that is spelt otherwise selects an EMPTY list,
    and nothing is tested. Give both one name.
dead-block warning
    a block that no stage selects
    Only with `--stages`. Its tests run nowhere. Correct the condition or take the block out.
repeated-entry error
    an entry a second time in one selection
    The test runs twice, or its results are told apart by nobody. Take one out.
repeated-test warning
    an entry inside a wider one of the same selection
    The wider entry already runs it. Take the narrow one out unless it needs a marker of its own.
default-timeout warning
    a TIMEOUT that is the default
    Sixty minutes are what every test has. Upstream refuses `TIMEOUT (60)`. Take it out.
timeout-spelling warning
    a TIMEOUT written in another way
    Scripts look for `TIMEOUT (90)`, with one blank and no more. `harness waives fmt` does it for
    waivers.
unlisted-test warning
    a test that no list runs
    Only with `--require-listed`. It was written and runs nowhere. Add it to a list.
"""

_UPSTREAM = """
upstream-reading note
    a line that TensorRT-LLM's parser reads otherwise
    For teams that run the file through upstream's own parser: the note says what it makes of the line.
upstream-level note
    a waiver that upstream does not apply at this level
    Its outer session compares whole ids; its inner session of unit tests knows functions, classes and
    files, but no folder. Here the waiver holds; there it does nothing.
upstream-prefix note
    a prefix that upstream mangles
    It replaces the stage's head wherever it stands in the name, so that an id that holds it is changed
    and never found.
"""


def _read(*tables: str) -> Mapping[str, Rule]:
    rules: dict[str, Rule] = {}
    for entry in re.split(r"\n(?=\S)", "\n".join(table.strip() for table in tables)):
        head, title, *text = (line.strip() for line in entry.splitlines())
        code, severity = head.split(" ")
        level: Severity = "error" if severity == "error" else "note" if severity == "note" else "warning"
        rules[code] = Rule(code, level, title, " ".join(text))
    return rules


RULES: Mapping[str, Rule] = _read(READING, _NAMES, _WAIVERS, _LISTS, _UPSTREAM)
"""Every rule by its code, those of reading first."""
