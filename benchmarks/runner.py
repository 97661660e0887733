"""Empty tests under the plugin, beside bare pytest and other ways: `python -m benchmarks.runner [REPEATS]`.

Whole commands, in turn: bare pytest; with list, waivers, log and the process that watches; under pytest-forked;
and a `python -m pytest` process for each test, of which a few are run. Shown is a test. Bare and with the plugin
they also run 1, 2, 4 and 8 times as many.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, compared, grown, markdown, skipped
from benchmarks.hosts import FORKED_MISSING, bare_command, forked_command
from benchmarks.plugin_overhead import PLUGIN, write_tree
from benchmarks.timing import machine, say, spent_in_turn

__all__ = ["measure"]

_TESTS, _ALONE = 400, 5
_TIMES = (1, 2, 4, 8)
_PART = f"an empty test, of {_TESTS}"
_BARE, _PLUGIN, _FORKED, _EACH = (
    "bare pytest",
    "with the plugin",
    "pytest-forked",
    "a `python -m pytest` process for each",
)


def _inside(folder: Path, command: Sequence[str]) -> list[str]:
    return ["bash", "-c", f"cd {shlex.quote(str(folder))} && rm -f r.* && {shlex.join(command)}"]


def _ways(folder: Path, forked: Path | None) -> dict[str, list[str]]:
    bare = bare_command()
    each = " && ".join(f"{shlex.join([*bare, f'test_000.py::test_{n}'])} > out" for n in range(_ALONE))
    ways = {
        _BARE: _inside(folder, bare),
        _PLUGIN: _inside(folder, [*bare, *PLUGIN]),
        _EACH: ["bash", "-c", f"cd {shlex.quote(str(folder))} && {each}"],
    }
    return {**ways, _FORKED: _inside(folder, forked_command(forked))} if forked else ways


def _growth(trees: dict[int, Path], repeats: int) -> list[Figure]:
    commands = {
        f"{way} {count}": _inside(folder, [*bare_command(), *more])
        for count, folder in trees.items()
        for way, more in ((_BARE, []), (_PLUGIN, PLUGIN))
    }
    rounds = spent_in_turn(commands, repeats)
    return [
        grown("growth", f"tests, {way}", {count: rounds[f"{way} {count}"] for count in trees})
        for way in (_BARE, _PLUGIN)
    ]


def measure(repeats: int, forked: Path | None) -> list[Figure]:
    """Return the figures of a test, and how both kinds of run grow."""
    with tempfile.TemporaryDirectory() as name:
        trees = {times * _TESTS: Path(name) / str(times) for times in _TIMES}
        for count, folder in trees.items():
            write_tree(folder, count // 100, 100)
        rounds = spent_in_turn(_ways(trees[_TESTS], forked), repeats)
        counts = dict.fromkeys(rounds, _TESTS) | {_EACH: _ALONE}
        a_test = {way: [spent.each(counts[way]) for spent in rounds[way]] for way in rounds}
        figures = compared(_PART, a_test, _BARE)
        if not forked:
            figures.append(skipped(_PART, FORKED_MISSING))
        return figures + _growth(trees, repeats)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runner")
    parser.add_argument("repeats", type=int, nargs="?", default=3)
    parser.add_argument("--forked", type=Path, metavar="DIR", help="where pytest-forked is")
    given = parser.parse_args()
    say(f"{machine()}; medians of {given.repeats}\n\n{markdown(measure(given.repeats, given.forked))}")


if __name__ == "__main__":
    main()
