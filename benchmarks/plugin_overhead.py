"""What the plugin costs a test, beside bare pytest in the same run: `python -m benchmarks.plugin_overhead [N]`.

Ten thousand empty tests, a list that names each of them, two thousand waivers of which every tenth reaches a test,
and `--results`, with the process that supervises. Whole commands run in turn, N rounds, and the verdict is on the
median of the rounds' differences in processor seconds, which other work on the machine moves least. What a run
costs however many tests it has (a second start of Python and pytest) is in it, and is also told by itself.

Exit status 1 when a test costs more than it may.
"""

from __future__ import annotations

import json
import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import Spent, machine, say, spent_in_turn

__all__ = ["PLUGIN", "main", "write_tree"]

_LIMIT = 0.1  # milliseconds a test
_FILES, _EACH, _WAIVERS = 100, 100, 2_000
PLUGIN = shlex.split(
    "-p harness.pytest_plugin -p harness.pytest_plugin.options --test-list list.txt --waives-file waives.txt "
    "--results r.jsonl"
)  # in a folder of `write_tree`


def write_tree(folder: Path, files: int, each: int) -> None:
    """Write `files` of `each` empty tests, a list of them all, and waivers of which every tenth reaches one."""
    names = []
    folder.mkdir()
    for number in range(files):
        body = "".join(f"def test_{n}(): pass\n" for n in range(each))
        (folder / f"test_{number:03}.py").write_text(body)
        names += [f"test_{number:03}.py::test_{n}" for n in range(each)]
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "list.txt").write_text("".join(f"{name}\n" for name in names))
    waivers = min(_WAIVERS, len(names))
    reaching = names[:: len(names) * 10 // waivers]
    waived = [*reaching, *(f"elsewhere/test_b.py::test_{n}[x]" for n in range(waivers - len(reaching)))]
    lines = sorted(f"{name} SKIP (https://nvbugs/{6_000_000 + n})\n" for n, name in enumerate(waived))
    (folder / "waives.txt").write_text("".join(lines))


def _commands(folder: Path) -> dict[str, list[str]]:
    # Both without the cache of failures and without other plugins; both from a clean folder.
    pytest = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    clean = f"cd {shlex.quote(str(folder))} && rm -f r.* && export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 && exec"
    return {
        f"bare {folder.name}": ["bash", "-c", f"{clean} {pytest}"],
        f"plugin {folder.name}": ["bash", "-c", f"{clean} {pytest} {shlex.join(PLUGIN)}"],
    }


def _above(bare: Sequence[Spent], plugin: Sequence[Spent]) -> Spent:
    """The median difference of two commands over the rounds."""
    pairs = list(zip(bare, plugin, strict=True))
    return Spent(
        statistics.median(more.wall - less.wall for less, more in pairs),
        statistics.median(more.cpu - less.cpu for less, more in pairs),
    )


def _say_medians(what: str, rounds: Sequence[Spent]) -> None:
    cpu = statistics.median(one.cpu for one in rounds)
    wall = statistics.median(one.wall for one in rounds)
    say(f"{what:12} {cpu:.2f} s of processors, {wall:.2f} s on the clock")


def main(repeats: int) -> int:
    """Print milliseconds a test above bare pytest, and the same as JSON; return the exit status."""
    with tempfile.TemporaryDirectory() as name:
        many, one = Path(name) / "many", Path(name) / "one"
        write_tree(many, _FILES, _EACH)
        write_tree(one, 1, 1)
        spent = spent_in_turn({**_commands(many), **_commands(one)}, repeats)
    tests = _FILES * _EACH
    say(f"{machine()}; {tests} tests, medians of {repeats} rounds")
    _say_medians("bare pytest", spent["bare many"])
    _say_medians("with plugin", spent["plugin many"])
    above, run = (_above(spent[f"bare {tree}"], spent[f"plugin {tree}"]) for tree in ("many", "one"))
    each, wall, rest = (1e3 * seconds / tests for seconds in (above.cpu, above.wall, above.cpu - run.cpu))
    say(f"above bare pytest: {each:+.4f} ms of processors a test, {wall:+.4f} ms on the clock")
    say(f"in it {run.cpu:.2f} s a run whatever it runs; without that {rest:+.4f} ms a test")
    say(f"at most {_LIMIT} ms of processors a test: {'holds' if each <= _LIMIT else 'DOES NOT HOLD'}")
    figures = {"cpu_ms_a_test": each, "wall_ms_a_test": wall, "cpu_s_a_run": run.cpu}
    say(json.dumps({"tests": tests} | {name: round(value, 4) for name, value in figures.items()}))
    return 0 if each <= _LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
