"""What the terminal says at the end of tests that a waiver concerned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.results.records import Word

__all__ = ["tell_waived"]

# Word -> the letter of pytest's -r that shows such tests.
_SHOWN = {
    Word.WAIVED: "s",
    Word.UNSUPPORTED: "s",
    Word.EXPECTED: "x",
    Word.UNSTABLE_FAILED: "x",
    Word.UNSTABLE_PASSED: "X",
    Word.WAIVED_FAILED: "x",
    Word.WAIVED_PASSED: "X",
}


def tell_waived(reporter: pytest.TerminalReporter) -> None:
    """Print a line for each waived test that `-r` asks for, and one patch for all waivers to take out."""
    lines = [line for word, letter in _SHOWN.items() for line in _lines(reporter, word, letter)]
    if lines:
        reporter.section("waived and unsupported")
        for line in lines:
            reporter.write_line(line)
    failed = reporter.stats.get("failed")
    if not failed:
        return
    from harness.pytest_plugin.patching import fixed_waivers, removal_patch  # only a failure pays for it

    for file, gone in fixed_waivers(failed):
        reporter.section(f"no longer needed in {file}")
        reporter.write(removal_patch(file, gone, reporter.config.rootpath))


def _lines(reporter: pytest.TerminalReporter, word: Word, letter: str) -> Iterator[str]:
    if reporter.hasopt(letter):
        for report in reporter.stats.get(word.value, ()):
            where = report.longrepr
            reason = getattr(report, "wasxfail", "") or (where[2] if isinstance(where, tuple) else "")
            yield f"{word.value.upper()} {report.nodeid}: {reason.removeprefix('Skipped: ')}"
