"""Child projects that misbehave, run in processes of their own, and what log and JUnit then say of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from harness.results.log import Log, read_log
from harness.results.records import Word

__all__ = ["MODES", "Torn", "run", "start", "told"]

XDIST = ("-p", "xdist.plugin", "-n", "2")
MODES = pytest.mark.parametrize(
    "mode", [(), pytest.param(XDIST, marks=pytest.mark.slow)], ids=["one process", "xdist"]
)
_COMMAND = (
    sys.executable,
    "-m",
    "pytest",
    "-p",
    "harness.pytest_plugin",
    "-p",
    "pytest_timeout",
    "--results=r.jsonl",
)
_LIMIT = 120.0


@dataclass(frozen=True)
class Torn:
    """How a run ended. `words` has each test's last word without its file, `texts` what the log says of it."""

    status: int
    output: str
    log: Log

    @property
    def words(self) -> dict[str, str]:
        return {name.partition("::")[2] or name: one.outcome.value for name, one in self.log.results.items()}

    @property
    def messages(self) -> dict[str, str]:
        return {name.partition("::")[2] or name: one.message for name, one in self.log.results.items()}


def start(folder: Path, files: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Write a project and start pytest in it; its output is one stream."""
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.Popen(
        [*_COMMAND, *arguments], cwd=folder, env=environment, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def run(folder: Path, files: Mapping[str, str], *arguments: str) -> Torn:
    """Run a project to its end. JUnit and log agree, whatever happened."""
    with start(folder, files, *arguments) as process:
        output = told(process)
    log = read_log(folder / "r.jsonl")
    assert log is not None, output
    torn = Torn(process.returncode, output, log)
    assert _in_junit(folder / "r.xml") == sorted(one.outcome.value for one in log.results.values()), output
    return torn


def told(process: subprocess.Popen[str]) -> str:
    """Wait for a run that must come to its end by itself, and return what it printed."""
    try:
        return process.communicate(timeout=_LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def _in_junit(path: Path) -> list[str]:
    """The words of a JUnit file: the line of a case's output that tells it, or that it passed."""
    words = []
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314  # we wrote it
        lines = (case.findtext("system-out") or "").splitlines()
        told = [line.removeprefix("outcome: ") for line in lines if line.startswith("outcome: ")]
        words += told or [Word.PASSED.value]
    return sorted(words)
