"""What a supervised run says to a person, and how it ends: from the log, which alone knows all of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.results.log import Log, read_log
from harness.results.records import Result, Word
from harness.results.summary import count_words, summarize

__all__ = ["Closing"]

_FROM_RESULTS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
_WHOLE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


class Closing:
    """The options that every session of a run gets, the lines between sessions, and the end.

    `said` tells whether there were any such lines: then no single session knows all of the run.
    """

    def __init__(self, config: pytest.Config, log: Path, first: int) -> None:
        self._config = config
        self._log, self._first = log, first
        self._junit = [log.with_suffix(".xml")]
        self._options: list[str] = []
        if given := config.getoption("xmlpath", default=None):  # each session would write over the one before
            self._junit.append(Path(config.invocation_params.dir, given))
            self._options = ["--junit-xml="]
        self.said = False

    def options(self, again: bool) -> list[str]:
        """What a session is started with beyond the command line."""
        return [*self._options, "--resume"] if again else self._options

    def say(self, line: str, *, after_a_death: bool = False) -> None:
        """Tell what happened between two processes. One that died left its own line unfinished."""
        self.said = True
        lead = "\n" if after_a_death else ""
        print(f"{lead}harness: {line}", flush=True)  # noqa: T201  # no reporter of pytest's is alive here

    def close(self, status: int) -> int:
        """Write JUnit, say what it all came to where no single session could, and return the exit status."""
        if status in _WHOLE and not self.said and len(self._junit) == 1:  # the one session has done it all
            return status
        log = read_log(self._log)
        if log is None:
            return status
        from harness.results.junit import write_junit  # a run that went well has written it in its one session

        results = list(log.seen_from(self._first).values())
        try:
            for path in self._junit:
                write_junit(path, log.header, results, count_words(results, _deselected(log)))
        except HarnessError as error:
            self.say(str(error))
            return error.exit_code
        if self.said:
            self._summarize(log, results)
        return self._status(status, results)

    def _summarize(self, log: Log, results: list[Result]) -> None:
        for line in summarize(results):
            print(line)  # noqa: T201
        counts = count_words(results, _deselected(log)).items()
        self.say(f"in all {', '.join(f'{count} {word}' for word, count in counts)}")

    def _status(self, status: int, results: Iterable[Result]) -> int:
        words = {result.outcome for result in results if result.fails}
        flaky = any(result.outcome is Word.FLAKY for result in results)
        if status not in _FROM_RESULTS:
            return status
        if words or (flaky and self._config.getoption("--fail-flaky", default=False)):
            return pytest.ExitCode.TESTS_FAILED
        if status == pytest.ExitCode.TESTS_FAILED and not flaky:
            return status  # what the log has no line for, a plugin's last hook for one
        return pytest.ExitCode.OK if results else status


def _deselected(log: Log) -> int:
    ends = [session.end for session in log.sessions if session.end is not None]
    return ends[0].counts.get(Word.DESELECTED.value, 0) if ends else 0
