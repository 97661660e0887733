"""The word for how a phase of a test ended, in the terminal, the log and JUnit alike.

A report carries its word as an attribute where pytest's own outcome does not say it: xdist takes attributes of
plain values from a worker to the controller. `pytest.skip("unsupported: ...")` is how any test says that what it
runs on cannot do it.
"""

from __future__ import annotations

import pytest

from harness.results.records import Word

__all__ = ["UNSUPPORTED", "has_word", "set_word", "status_of", "word_of"]

UNSUPPORTED = "unsupported: "
"""How the reason of such a skip begins."""

_ATTRIBUTE = "harness_word"
# What a terminal shows of a word that pytest does not have. The others keep pytest's category, and with it their
# place in its summary.
_LETTERS = {
    Word.WAIVED: "w",
    Word.EXPECTED: "x",
    Word.UNSTABLE_PASSED: "u",
    Word.UNSTABLE_FAILED: "U",
    Word.WAIVED_PASSED: "v",
    Word.WAIVED_FAILED: "V",
    Word.UNSUPPORTED: "n",
    Word.REUSED: "r",
}
_FAILED_AS = {Word.FIXED: "F", Word.CRASHED: "C", Word.HUNG: "H"}


def set_word(report: pytest.TestReport, word: Word) -> None:
    """Say how this phase ended, in place of what `word_of` reads from pytest's outcome."""
    setattr(report, _ATTRIBUTE, word.value)


def has_word(report: pytest.TestReport) -> bool:
    """Whether `set_word` said how this phase ended."""
    return _ATTRIBUTE in report.__dict__


def word_of(report: pytest.TestReport) -> Word | None:
    """How the test ended as far as this phase tells; None for a set-up or tear-down that says nothing."""
    if (word := _own_word(report)) is not None:
        return word
    if report.when not in ("setup", "call", "teardown"):  # xdist's report of a worker that died
        return Word.CRASHED
    if report.outcome == "passed":
        return Word.PASSED if report.when == "call" else None
    if report.outcome == "failed":
        return Word.FAILED if report.when == "call" else Word.ERROR
    return Word.EXPECTED if "wasxfail" in report.__dict__ else Word.SKIPPED


def _own_word(report: pytest.TestReport) -> Word | None:
    """The word that pytest's outcome does not say, where there is one."""
    said = report.__dict__.get(_ATTRIBUTE)
    if said is not None:
        return Word(said)
    where = report.longrepr if report.outcome == "skipped" else None
    if isinstance(where, tuple) and str(where[2]).removeprefix("Skipped: ").startswith(UNSUPPORTED):
        return Word.UNSUPPORTED
    return None


def status_of(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """What `pytest_report_teststatus` answers for a word of ours: category, letter, verbose word."""
    word = _own_word(report)
    if word is None:
        return None
    if word in _LETTERS:
        return word.value, _LETTERS[word], word.value.upper()
    return ("failed", _FAILED_AS[word], word.value.upper()) if word in _FAILED_AS else None
