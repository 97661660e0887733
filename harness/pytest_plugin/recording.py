"""`--results FILE`: every test's result goes into the log as soon as its last phase has ended.

The controller of xdist, or the only process, writes. Workers on the same machine write `started` lines, since only
they know which process a test runs in and when; the controller tells them the file, and what is not to run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError, Place, UsageError
from harness.pytest_plugin.folding import fold, from_collector
from harness.pytest_plugin.leaving import leave
from harness.pytest_plugin.naming import plain_id
from harness.pytest_plugin.resuming import Resumed, go_on, leave_out, planned, refuse_another_plan
from harness.pytest_plugin.run_header import make_header, relevant_options
from harness.pytest_plugin.supervisor.task import TASK
from harness.results.junit import write_junit
from harness.results.log import Appender, LogWriter
from harness.results.records import Header, Plan, Result, Started, Word
from harness.results.summary import count_words, summarize

__all__ = ["pytest_configure"]

_NAME = "harness-recording"
_INPUT = "harness_run"
_OUTPUT = "harness_told"


def pytest_configure(config: pytest.Config) -> None:
    """Register what records: where `--results` is given, and in the workers of such a run."""
    with _one_line():
        given: dict[str, Any] | None = getattr(config, "workerinput", {}).get(_INPUT)
        file = config.getoption("--results", default=None)
        if given is not None:
            config.pluginmanager.register(_Worker(config, given), _NAME)
        elif file and not hasattr(config, "workerinput") and not config.option.collectonly:
            config.pluginmanager.register(_Recorder(config, Path(file).absolute()), _NAME)
        elif config.getoption("--resume", default=False) and not file:
            raise UsageError("--resume goes on from a log: name it with --results FILE")


@contextmanager
def _one_line() -> Iterator[None]:
    """End pytest with one line and the error's code for what a person can repair."""
    try:
        yield
    except HarnessError as error:
        leave(error)


class _Starts:
    """Makes the line that tells which test starts, in the process that runs it."""

    def __init__(self, config: pytest.Config, worker: str = "") -> None:
        self._worker, self._pid = worker, os.getpid()
        self._limit = _limit(config)

    def of(self, item: pytest.Item) -> Started:
        """The limit is as pytest-timeout reads it: a mark, or what holds for the whole run; 0 for none."""
        mark = item.get_closest_marker("timeout")
        limit = self._limit
        if mark is not None:
            limit = float(mark.args[0] if mark.args else mark.kwargs.get("timeout") or 0)
        return Started(plain_id(item.nodeid), time.time(), self._worker, self._pid, limit)


def _limit(config: pytest.Config) -> float:
    """The limit of tests without a mark, from where pytest-timeout takes it: option, environment, ini file."""
    if not any(map(config.pluginmanager.hasplugin, ("timeout", "pytest_timeout"))):
        return 0.0
    given = config.getoption("timeout", default=None)
    return float(given if given is not None else os.environ.get("PYTEST_TIMEOUT") or config.getini("timeout") or 0)


class _Worker:
    """In a worker of xdist: tells what is to run, what starts, and at the end how many were deselected."""

    def __init__(self, config: pytest.Config, given: dict[str, Any]) -> None:
        self._config = config
        self._starts = _Starts(config, getattr(config, "workerinput", {})["workerid"])
        self._log = Appender(Path(given["log"])) if given["log"] else None
        self._given = given
        self._done = frozenset(given["done"])
        self._told: dict[str, Any] = {"deselected": 0, "refused": ""}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Write down what everything else has chosen, then leave out what has a result."""
        yield
        plan = planned(self._config, items)
        earlier = self._given["plan"]
        try:
            refuse_another_plan(self._given["name"], Plan((), *earlier) if earlier else None, plan)
        except UsageError as error:
            self._told["refused"] = str(error)  # the controller ends the run
            items.clear()
            return
        if self._log is not None and self._given["plans"]:
            with suppress(HarnessError):
                self._log.write(plan)
        leave_out(items, self._done)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self._log is not None:
            with suppress(HarnessError):  # the controller, which writes results, will say so
                self._log.write(self._starts.of(item))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._told["deselected"] += len(items)

    def pytest_sessionfinish(self) -> None:
        getattr(self._config, "workeroutput", {})[_OUTPUT] = self._told


class _Recorder:
    """In the controller or the only process: writes results, the end of the session and JUnit."""

    _log: LogWriter
    _header: Header
    _done: frozenset[str]

    def __init__(self, config: pytest.Config, path: Path) -> None:
        if path.suffix == ".xml":
            raise UsageError(
                "JUnit is written there: give the log another ending, such as .jsonl", Place(str(path))
            )
        self._config, self._path = config, path
        self._earlier = Resumed()
        self._final: dict[str, Result] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._attempts: dict[str, int] = {}
        self._deselected = 0
        self._options = relevant_options(config)
        self._starts = _Starts(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read what is to be gone on from, then begin this session's part of the log."""
        with _one_line():
            header = make_header(self._config)
            resume = bool(self._config.getoption("--resume"))
            self._log = LogWriter(self._path)
            task = self._config.stash.get(TASK, None)
            first = task.first if task else None
            self._header, self._earlier = go_on(self._log.read(), header, resume, first)
            self._log.write(self._header)
            self._log.shared = False  # until there are workers
            self._final = dict(self._earlier.results)
            for result in self._earlier.blamed:
                self._keep(result)
        self._done = frozenset(self._final)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Write down what everything else has chosen, then leave out what has a result."""
        yield
        with _one_line():
            plan = planned(self._config, items)
            refuse_another_plan(str(self._path), self._earlier.plan, plan)
            if self._earlier.plan is None:
                self._log.write(plan)
        leave_out(items, self._done)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what the log has, and the log's place where it has the same disk."""
        log = str(self._path) if node.gateway.spec.popen else ""
        self._log.shared = True
        earlier = self._earlier.plan
        node.workerinput[_INPUT] = {
            "log": log,
            "name": str(self._path),
            "plan": (earlier.selected, earlier.sha256) if earlier else None,
            "plans": earlier is None and node.gateway.id == "gw0",  # one of them is enough
            "done": sorted(self._done),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over how many tests a worker deselected, each of them seeing all, or why the run cannot go on."""
        told = getattr(node, "workeroutput", {}).get(_OUTPUT, {})
        self._deselected = max(self._deselected, told.get("deselected", 0))
        if told.get("refused"):
            leave(UsageError(told["refused"]))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected += len(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        try:  # twice a test: `_one_line` would cost as much as the writing
            self._log.write(self._starts.of(item))
        except HarnessError as error:
            leave(error)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect a test's reports. A plugin's `rerun` begins another attempt; a dead worker's report ends it."""
        nodeid = report.nodeid
        if report.outcome not in ("passed", "failed", "skipped"):
            self._reports.pop(nodeid, None)
            self._attempts[nodeid] = self._attempts.get(nodeid, 1) + 1
            return
        self._reports.setdefault(nodeid, []).append(report)
        if report.when not in ("setup", "call", "teardown"):
            self.pytest_runtest_logfinish(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the result. A test that gave no report, since the run is being left, has none."""
        reports = self._reports.pop(nodeid, None)
        if reports:
            result = fold(plain_id(nodeid), reports, self._attempts.pop(nodeid, 1), self._options)
            try:
                self._keep(result)
            except HarnessError as error:
                leave(error)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write that tests are missing, as an error under the name of their file or class."""
        if report.outcome == "failed":
            with _one_line():
                self._keep(from_collector(report))

    def _keep(self, result: Result) -> None:
        self._log.write(result)
        self._final[result.id] = result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Let earlier failures decide too, then end the log and write JUnit from all results."""
        earlier = [*self._earlier.results.values(), *self._earlier.blamed]
        status = exitstatus
        if earlier and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            failed = any(result.fails for result in earlier)
            status = pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK
            session.exitstatus = status
        with _one_line():
            for name in self._earlier.uncollected.keys() - self._final.keys():
                self._keep(Result(name, Word.PASSED, time.time(), phase="collect"))  # it could be collected now
            counts = count_words(self._final.values(), self._deselected)
            self._log.end(int(status), counts)
            write_junit(self._path.with_suffix(".xml"), self._header, self._final.values(), counts)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what all sessions together come to, each group of failures once."""
        terminalreporter.section(f"results: {self._path.name}")
        reused = [result for result in self._earlier.results.values() if result.reused]
        counts = count_words(self._final.values(), self._deselected)
        terminalreporter.write_line(", ".join(f"{count} {word}" for word, count in counts.items()) or "no tests")
        if reused:
            failing = sum(result.fails for result in reused)
            terminalreporter.write_line(f"{len(reused)} reused from the log, {failing} of them failures")
        for line in summarize(self._final.values()):
            terminalreporter.write_line(line)
