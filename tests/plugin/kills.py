"""Runs of pytest in processes of their own, ended with `kill -9` at chosen moments."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from harness.results.log import Log, read_log

__all__ = ["TESTS", "log_of", "run_to_the_end", "run_until_killed"]

TESTS = """
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_one(n):
    assert n % 50 != 7
"""
_COMMAND = (sys.executable, "-m", "pytest", "-p", "harness.pytest_plugin", "-q", "--resume", "--no-confirm")


def log_of(path: Path) -> Log:
    log = read_log(path)
    assert log is not None
    return log


def _start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*_COMMAND, "--results", "r.jsonl", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def run_until_killed(folder: Path, draw: random.Random, *arguments: str) -> bool:
    """Start a run and kill its whole process group when the log has grown by a drawn number of bytes.

    Returns whether the run was killed; it may have come to its end before. A drawn fraction of the kills hits
    pytest alone, so that workers of xdist find out by themselves.
    """
    file = folder / "r.jsonl"
    size = file.stat().st_size if file.exists() else 0
    until = size + draw.randrange(6_000)
    alone = draw.random() < 0.3
    with _start(folder, *arguments) as process:
        while process.poll() is None:
            if file.exists() and file.stat().st_size >= until:
                process.send_signal(signal.SIGKILL) if alone else os.killpg(process.pid, signal.SIGKILL)
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.0005)
        return process.wait() == -signal.SIGKILL


def run_to_the_end(folder: Path, *arguments: str) -> int:
    """Run what is left; return pytest's exit status."""
    with _start(folder, *arguments) as process:
        return process.wait()
