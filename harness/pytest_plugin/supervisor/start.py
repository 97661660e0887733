"""Whether this process runs the tests or watches over one that does; and the whole of a supervised run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from harness.pytest_plugin.supervisor.task import TASK, Task

__all__ = ["supervise"]

# What a person does at a terminal, or what runs nothing.
_UNSUPERVISED = ("usepdb", "trace", "collectonly", "help", "version", "setuponly", "setupplan")


def supervise(config: pytest.Config) -> int | None:
    """Run pytest as a child and return its exit status; None when this process is to run the tests itself."""
    if hasattr(config, "workerinput"):
        return None
    task = Task.take(os.environ)
    if task is not None:
        config.stash[TASK] = task
        return None
    if config.invocation_params.plugins or any(config.getoption(name, default=None) for name in _UNSUPERVISED):
        return None
    from harness.pytest_plugin.supervisor.run import SupervisedRun

    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)  # standard input is the child's
    with tempfile.TemporaryDirectory(prefix="harness-run-") as folder:
        return SupervisedRun(config, Path(folder)).run()
