"""What a process a case costs, beside the ways it is done now: `python -m benchmarks.hosts [REPEATS]`.

Ten cases of the main job, judged by every invariant, one at a time: in forks of one host, in one host that is used
again, and under pytest-forked; and two with a `python -m pytest` process for each. Whole commands run in turn;
what they spend on starting is in it, and shown is a case. pytest-forked imports torch once, before it forks, and
so runs at its best. It does not work under pytest 9: it is taken, with an older one, from a folder of its own
(`pip install --target DIR 'pytest<9' pytest-forked`).

`python -m benchmarks.hosts --cases WAY N` is one of these commands.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, compared, markdown, skipped
from benchmarks.main_job import IMPORT_TORCH
from benchmarks.timing import machine, say, spent_in_turn
from harness.catalogue import find_bug, load_reproducer
from harness.invariants import Monitor
from harness.launch import ISOLATIONS, Launcher, Run
from harness.reproduce import Parameters
from harness.trace import Outcome

__all__ = ["FORKED_MISSING", "bare_command", "forked_command", "measure", "run_cases"]

_CASES, _ALONE = 10, 2
_PART = "a case of the main job"
_EACH = "a `python -m pytest` process for each"
_FORKS = "forks of one host"
FORKED_MISSING = "--forked was not given: pip install --target DIR 'pytest<9' pytest-forked"
_TESTS = """
import torch  # here, so that a fork need not

import pytest
from benchmarks.hosts import run_cases

@pytest.mark.parametrize("number", range({cases}))
def test_case(number):
    run_cases("none", 1, number)
"""


def run_cases(isolation: str, count: int, first: int = 0) -> None:
    """Run so many cases of the main job in this isolation; raise where one does not hold."""
    cases = list(load_reproducer(find_bug("6535874")).cases(Parameters(("dflash",), ("production",))))
    with Launcher(isolation=isolation, jobs=1) as launcher:
        launcher.describe()
        for case in cases[first : first + count]:
            trace = launcher.run(Run(case.scenario, Monitor(case.scenario)))
            if trace.outcome is not Outcome.OK:
                raise RuntimeError(f"{trace.outcome.value} in {trace.where()}: {trace.detail}")


def forked_command(folder: Path) -> list[str]:
    """Return the start of a command that forks for each test; `folder` holds pytest-forked and its pytest."""
    own = os.pathsep.join(filter(None, (str(folder.resolve()), os.environ.get("PYTHONPATH", ""))))
    return ["env", f"PYTHONPATH={own}", *bare_command(), "-p", "pytest_forked", "--forked"]


def bare_command() -> list[str]:
    """Return the start of a pytest command without other plugins and without a cache of failures."""
    return [
        "env",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
    ]


def _commands(folder: Path, forked: Path | None) -> dict[str, list[str]]:
    tests = folder / "test_cases.py"
    tests.write_text(_TESTS.format(cases=_CASES), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    own = [sys.executable, "-m", "benchmarks.hosts", "--cases"]
    each = " && ".join(f'"$@" "{tests}::test_case[{number}]"' for number in range(_ALONE))
    commands = {
        _FORKS: [*own, "fork", str(_CASES)],
        "one host, used again": [*own, "reuse", str(_CASES)],
        _EACH: ["bash", "-c", each, "bash", *bare_command()],
    }
    if forked:
        commands["pytest-forked, torch imported once"] = [*forked_command(forked), str(tests)]
    return commands


def measure(repeats: int, forked: Path | None) -> list[Figure]:
    """Run the commands in turn."""
    bare, host = next(iter(IMPORT_TORCH)), [sys.executable, "-m", "benchmarks.hosts", "--cases", "fork", "0"]
    start = {**IMPORT_TORCH, "a host starts, answers and ends": host}
    with tempfile.TemporaryDirectory() as name:
        figures = compared("a host", spent_in_turn(start, repeats, warm=0), bare)
        rounds = spent_in_turn(_commands(Path(name), forked), repeats, warm=0)
        a_case = {way: [spent.each(_ALONE if way == _EACH else _CASES) for spent in rounds[way]] for way in rounds}
        figures += compared(_PART, a_case, _FORKS)
    return figures if forked else [*figures, skipped(_PART, FORKED_MISSING)]


def main() -> None:
    """Print the table, or be one of its commands."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts")
    parser.add_argument("repeats", type=int, nargs="?", default=3)
    parser.add_argument(
        "--cases", nargs=2, metavar=("WAY", "N"), help=f"run N cases; WAY is {', '.join(ISOLATIONS)}"
    )
    parser.add_argument("--forked", type=Path, metavar="DIR", help="where pytest-forked is")
    given = parser.parse_args()
    if given.cases:
        run_cases(given.cases[0], int(given.cases[1]))
    else:
        say(f"{machine()}; medians of {given.repeats}\n\n{markdown(measure(given.repeats, given.forked))}")


if __name__ == "__main__":
    main()
