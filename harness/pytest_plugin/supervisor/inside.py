"""The supervised process's side: what it leaves for its supervisor to find when it dies."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from harness.pytest_plugin.leaving import ends_the_run
from harness.pytest_plugin.naming import plain_id
from harness.pytest_plugin.supervisor.device import device_error
from harness.pytest_plugin.supervisor.system import STACKS_SIGNAL, close_in_forks, die_with, open_pipes, own_group
from harness.pytest_plugin.supervisor.task import TASK, Notes, Task
from harness.pytest_plugin.waiving import WAIVED
from harness.pytest_plugin.words import set_word
from harness.results.records import Word

__all__ = ["join"]

_WORKER_INPUT = "harness_task"  # a key of what xdist hands to a worker
# How a process leaves that a test forked and that fell out of the test, and one that can run no other test.
_FORKED, _POISONED = 70, 71


class _Inside:
    """Hooks of a supervised process, and of its xdist workers.

    The notes: `collecting` the file that is being imported, `exit` a test that called `pytest.exit`, `broken` what
    made pytest itself fail, `useless` why no test can run, `finished` how the session ended, `apart` the tests to
    run by themselves later, `debugging` that a debugger is open, `poisoned` why the process can run no other test,
    `stacks` what faulthandler wrote.
    """

    def __init__(self, config: pytest.Config, task: Task) -> None:
        self._config = config
        self._task = task
        self._notes = Notes(Path(task.folder))
        self._pid = os.getpid()
        self._running, self._poison = "", ""
        self._limit = self._since = 0.0
        self._streams = (sys.stdout, sys.stderr)
        self._skipped = {config.rootpath / name for name in task.broken}
        self._only = config.rootpath / task.alone.partition("::")[0] if task.alone else None
        if self._only and not self._only.exists():  # an id that is not built from its file's name
            self._only = None
        self._stacks = self._notes.path("stacks", self._pid).open("ab")
        faulthandler.enable(self._stacks)
        faulthandler.register(STACKS_SIGNAL, self._stacks, all_threads=True)
        if hasattr(config, "workerinput"):
            own_group()  # a test that kills its process group kills its worker only
            die_with(os.getppid())
            close_in_forks(open_pipes())  # a controller waits for as long as anybody holds a dead worker's pipe

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out what ends the process, and what the one test is not in."""
        if collection_path in self._skipped:
            return True
        if self._only and collection_path != self._only and collection_path not in self._only.parents:
            return True
        return None

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Note what is about to be imported."""
        if isinstance(collector, pytest.File):
            gc.freeze()  # what was collected lives to the end: to look for garbage there costs more than recording
            self._notes.write("collecting", collector.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Nothing is imported any more. After all else has chosen: the one test, or all that do not run apart."""
        self._notes.erase("collecting")
        yield
        waived = ((plain_id(item.nodeid), item.stash.get(WAIVED, None)) for item in items)
        self._notes.write_known({name: one.fails for name, one in waived if one is not None})
        if self._task.alone:
            items[:] = [item for item in items if plain_id(item.nodeid) == self._task.alone]
            return
        apart = [plain_id(item.nodeid) for item in items if item.get_closest_marker("isolation")]
        self._notes.write("apart", "\n".join(apart))
        leave = {*apart, *self._task.apart}
        if leave:
            items[:] = [item for item in items if plain_id(item.nodeid) not in leave]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Remember what runs."""
        self._running = nodeid

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, settings: Any) -> None:
        """Learn the limit that pytest-timeout found for the test."""
        self._limit, self._since = settings.timeout, time.monotonic()

    def pytest_runtest_setup(self) -> None:
        """Remember what captures the test's output: a test that closes it ends the process's use."""
        self._streams = (sys.stdout, sys.stderr)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say of a test's report what only this process knows; a fork that fell out of its test ends here."""
        if os.getpid() != self._pid:  # it would run all the rest a second time
            os._exit(_FORKED)
        report = yield
        if report.when == "call" and (error := device_error()):
            self._poison = f"its CUDA context is lost: {error}"
            if report.outcome == "passed":
                report.outcome, report.longrepr = "failed", self._poison
        if self._limit and time.monotonic() >= self._since + self._limit:
            self._say_hung(report, call)
        return report

    def _say_hung(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """A phase that ended beyond the limit: pytest-timeout raised as `pytest.fail` does, or could not."""
        if report.when == "call" and report.outcome == "passed":
            report.outcome, report.longrepr = "failed", f"no end within {self._limit:g} s"
            set_word(report, Word.HUNG)
        elif call.excinfo is not None and call.excinfo.errisinstance(pytest.fail.Exception):
            set_word(report, Word.HUNG)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Nothing runs. A process that cannot run another test leaves: a new one goes on."""
        self._running, self._limit = "", 0.0
        out, err = self._streams
        if out.closed or err.closed:
            self._poison = "it closed sys.stdout or sys.stderr"
        if self._poison:
            self._notes.write("poisoned", self._poison)
            os._exit(_POISONED)

    def pytest_enter_pdb(self) -> None:
        """A person looks: no deadline counts."""
        self._notes.write("debugging", "")

    def pytest_leave_pdb(self) -> None:
        """Deadlines count again, for the tests that begin from now on."""
        self._notes.erase("debugging")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Tell a test's own `pytest.exit` from a person's Ctrl-C, and from what makes the whole run useless."""
        if ends_the_run(excinfo.value):
            self._notes.write("useless", str(excinfo.value))
        elif isinstance(excinfo.value, pytest.exit.Exception) and self._running:
            self._notes.write("exit", f"{self._running}\n{excinfo.value}")

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Say what broke pytest itself, a plugin's hook for one."""
        last = excinfo.exconly().splitlines() or [excinfo.typename]
        self._notes.write("broken", f"{self._running}\n{last[-1]}")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Say that the session came to an end of its own."""
        self._notes.write("finished", str(int(exitstatus)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the task to a worker of xdist."""
        node.workerinput[_WORKER_INPUT] = self._task.dumps()

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Say what is known of a worker's end: it was beyond its limit, or which signal it was."""
        for text in self._notes.read("hung").values():
            limit, name, stacks = text.split("\n", 2)
            if name == plain_id(crashitem):
                report.longrepr = f"no end within {limit} s\n{stacks}"
                set_word(report, self._notes.known(name, Word.HUNG))
                return
        tail = self._last_words(crashitem)
        report.longrepr = f"{report.longrepr}\n{tail}" if tail else report.longrepr
        set_word(report, self._notes.known(plain_id(crashitem), Word.CRASHED))

    def _last_words(self, crashitem: str) -> str:
        function = crashitem.partition("[")[0].rpartition("::")[2]
        dumps = self._notes.read("stacks").values()
        return next((text for text in dumps if f" in {function}\n" in text), "")


def join(config: pytest.Config) -> None:
    """Bring the hooks of a supervised process, or of its worker, where this is one."""
    task = config.stash.get(TASK, None)
    given = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
    if given is not None:
        task = config.stash[TASK] = Task.loads(given)
    if task is not None:
        config.pluginmanager.register(_Inside(config, task), "harness-supervised")
