"""Laws of words and of selection, for any reports and any list."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import Place
from harness.lists import Level, parse_entry, parse_waiver
from harness.pytest_plugin.folding import attach, fold
from harness.pytest_plugin.selection import choose
from harness.pytest_plugin.waiving import Waived, WaiverWords
from harness.pytest_plugin.words import set_word, status_of, word_of
from harness.results.records import FAILING, Word

PHASES = ("setup", "call", "teardown")
OUTCOMES = ("passed", "failed", "skipped")


def report(when: str, outcome: str, reason: str, xfail: bool, word: Word | None) -> pytest.TestReport:
    longrepr: Any = (
        ("a.py", 1, f"Skipped: {reason}") if outcome == "skipped" else "E   it broke" * (outcome == "failed")
    )
    made = pytest.TestReport("a.py::t", ("a.py", 1, "t"), {}, cast("Any", outcome), longrepr, cast("Any", when))
    if xfail and outcome == "skipped":
        made.wasxfail = reason
    if word is not None:
        set_word(made, word)
    return made


REPORTS = st.builds(
    report,
    st.sampled_from(PHASES),
    st.sampled_from(OUTCOMES),
    st.sampled_from(["not today", "unsupported: needs 8 GPUs"]),
    st.booleans(),
    st.none() | st.sampled_from([word for word in Word if word is not Word.DESELECTED]),
)


@given(REPORTS)
def test_the_word_of_a_report_is_one_and_the_terminal_shows_no_other(one: pytest.TestReport) -> None:
    word = word_of(one)
    assert word_of(one) is word
    shown = status_of(one)
    if shown is not None:
        assert word is not None
        assert shown[0] in (word.value, "failed")
        assert (shown[0] == "failed") == (word in FAILING)
        assert shown[2] == word.value.upper()


@given(st.lists(REPORTS, min_size=1, max_size=3))
def test_a_test_fails_exactly_where_one_of_its_phases_does(reports: list[pytest.TestReport]) -> None:
    result = fold("a.py::t", reports, 1, [])
    said = [word for word in map(word_of, reports) if word is not None]
    assert result.fails == any(word in FAILING for word in said)
    assert result.outcome in {*said, Word.PASSED}
    if not said:
        assert result.outcome is Word.PASSED


def test_letters_of_the_terminal_tell_words_apart() -> None:
    letters = [status[1] for word in Word if (status := status_of(report("call", "passed", "", False, word)))]
    assert not [pair for pair in combinations(letters, 2) if pair[0] == pair[1]]


def test_facts_of_any_phase_are_in_the_result() -> None:
    reports = [report(when, "passed", "", False, None) for when in PHASES]
    attach(reports[1], devices=["GPU-a"], signature="I-CAP")
    result = fold("a.py::t", reports, 1, [])
    assert (result.outcome, result.devices, result.signature) == (Word.PASSED, ("GPU-a",), "I-CAP")


def test_a_process_that_ends_under_a_test_is_its_word_whatever_was_said_before() -> None:
    died = report("???", "failed", "", False, None)
    for outcome in OUTCOMES:
        assert fold("a.py::t", [report("call", outcome, "", False, None), died], 1, []).outcome is Word.CRASHED


UNSTABLE = ("UNSTABLE", Word.UNSTABLE_FAILED, Word.UNSTABLE_PASSED)
XFAIL = ("XFAIL", Word.EXPECTED, Word.FIXED)


@pytest.mark.parametrize(
    ("waiver", "when", "outcome", "xfail", "expected"),
    [
        (UNSTABLE, "call", "passed", False, Word.UNSTABLE_PASSED),
        (UNSTABLE, "call", "skipped", True, Word.UNSTABLE_FAILED),
        (
            UNSTABLE,
            "call",
            "failed",
            False,
            Word.UNSTABLE_FAILED,
        ),  # as its device or its limit says after it passed
        (UNSTABLE, "setup", "skipped", True, Word.UNSTABLE_FAILED),
        (UNSTABLE, "call", "skipped", False, Word.SKIPPED),  # by itself
        (UNSTABLE, "teardown", "failed", False, Word.ERROR),
        (XFAIL, "call", "failed", False, Word.FIXED),
        (XFAIL, "call", "skipped", True, Word.EXPECTED),
        (XFAIL, "setup", "skipped", False, Word.SKIPPED),
    ],
)
def test_a_waiver_changes_the_words_that_it_speaks_of_and_no_others(
    tmp_path: Path,
    waiver: tuple[str, Word, Word],
    when: str,
    outcome: str,
    xfail: bool,
    expected: Word,
) -> None:
    marker, fails, passes = waiver
    line, _ = parse_waiver(f"a.py::t {marker} (https://nvbugs/1)", Place(str(tmp_path / "waives.txt"), 1, 1))
    assert line is not None
    waived = {"a.py::t": Waived(line, Level.ID, fails, passes)}
    one = report(when, outcome, "not today", xfail, None)
    WaiverWords(waived, tmp_path).pytest_runtest_logreport(one)
    assert word_of(one) is expected


@dataclass(frozen=True)
class Item:
    """As much of a test as selection looks at."""

    nodeid: str

    def add_marker(self, mark: object) -> None:
        del mark


IDS = [f"{file}.py::{name}" for file in ("a", "b") for name in ("one", "two", "three[x]")]
TARGETS = st.lists(st.sampled_from([*IDS, "a.py", "b.py", "a.py::three", "."]), min_size=1, max_size=6)


@given(st.permutations(IDS), TARGETS)
def test_selection_has_the_lists_order_each_test_once_and_nothing_else(
    order: list[str], targets: list[str]
) -> None:
    entries = []
    for line, target in enumerate(targets, 1):
        entry, problems = parse_entry(target, Place("l.txt", line, 1))
        assert entry is not None, problems
        entries.append(entry)
    items = cast("dict[str, pytest.Item]", {nodeid: Item(nodeid) for nodeid in order})
    chosen = [one.id for one in choose(items, entries, order, False)]
    assert len(set(chosen)) == len(chosen)
    expected: dict[str, None] = {}
    for target in targets:
        expected |= dict.fromkeys(
            nodeid
            for nodeid in order
            if target == "." or nodeid == target or nodeid.startswith((f"{target}::", f"{target}["))
        )
    assert chosen == list(expected)
    again = choose(items, [*entries, *entries], order, False)
    assert [one.id for one in again] == chosen
