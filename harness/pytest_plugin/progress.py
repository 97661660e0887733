"""How far a run is: a status line on a terminal, now and then a plain line elsewhere, nothing with `-q`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

__all__ = ["LINE", "REDRAW", "Meter", "show_progress"]

REDRAW = 0.2  # seconds between two status lines
LINE = 30.0  # seconds between two plain lines, and
_STEP = 0.05  # how much of the run they are apart at least
# Makes a line below where there is none; then there, from its start, the text; then back to where pytest writes.
_DRAW = "\x1bD\x1bM\x1b7\x1b[B\r\x1b[2K{}\x1b8"


class Meter:
    """What is done of how much: tests, and seconds of work where durations are known.

    durations   seconds by test, from earlier runs; a test that has none counts as their median.
    clock       monotonic seconds.
    """

    def __init__(self, durations: Mapping[str, float] | None = None, clock: Callable[[], float] = time.monotonic):
        self._durations = durations or {}
        self._unknown = median(self._durations.values()) if self._durations else 1.0
        self.clock = clock
        self.failed = 0
        self.begin(())

    def begin(self, tests: Sequence[str]) -> None:
        """These tests begin now: what came before is no part of their rate."""
        self.tests, self.done, self._done_work = len(tests), 0, 0.0
        self._work = sum(self._weight(test) for test in tests)
        self._began = self.clock()

    def _weight(self, test: str) -> float:
        return self._durations.get(test, self._unknown)

    def take(self, test: str) -> None:
        """Count a test that ended."""
        self.done += 1
        self._done_work += self._weight(test)

    @property
    def share(self) -> float:
        """How much of the run is done, from 0 to 1."""
        return min(1.0, self._done_work / self._work) if self._work > 0 else 0.0

    def __str__(self) -> str:
        passed = self.clock() - self._began
        rate = self.done / passed if passed > 0 else 0.0
        parts = [f"{self.done}/{self.tests or '?'} tests {self.share:.0%}"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{rate:.1f}/s"] if self.done else []
        parts += [f"{_clock(passed / self.share - passed)} left"] if 0 < self.share < 1 else []
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class _Shown:
    """Hooks of the process that has the terminal."""

    def __init__(self, reporter: pytest.TerminalReporter, meter: Meter) -> None:
        self._reporter, self._meter = reporter, meter
        self._last = meter.clock()
        self._share = 0.0
        self._drawn = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._meter.begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self._meter.tests:
            self._meter.begin(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._erase()  # before pytest writes where the line stands
        self._meter.failed += report.failed
        if report.when not in ("setup", "call"):  # the last phase, or a worker's death
            self._meter.take(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        now = self._meter.clock()
        if self._reporter.isatty():
            if now >= self._last + REDRAW:
                self._last, self._drawn = now, True
                self._write(_DRAW.format(str(self._meter)))
        elif now >= self._last + LINE and self._meter.share >= self._share + _STEP:
            self._last, self._share = now, self._meter.share
            self._reporter.ensure_newline()
            self._reporter.write_line(f"progress: {self._meter}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._erase()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._erase()

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            self._write(_DRAW.format(""))

    def _write(self, text: str) -> None:
        self._reporter.write(text, flush=True)


def show_progress(config: pytest.Config) -> None:
    """Bring the progress line, where there is a reporter that is not told to be quiet."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput") or config.get_verbosity() < 0:
        return
    file = config.getoption("--durations-file", default=None)
    durations: Mapping[str, float] = {}
    if file:
        from harness.results.durations import read_durations

        durations = read_durations(Path(file))
    config.pluginmanager.register(_Shown(reporter, Meter(durations)), "harness-progress")
