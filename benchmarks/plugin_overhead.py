"""What the plugin costs a test, beside bare pytest in the same run: `python -m benchmarks.plugin_overhead [N]`.

Ten thousand empty tests, a list that names each of them, two thousand waivers of which every tenth reaches a test,
and `--results`, with the process that supervises. Wall time of whole commands in turn, medians of N rounds.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import machine, say, side_by_side

__all__ = ["main"]

_FILES, _EACH, _WAIVERS = 100, 100, 2_000
_OURS = (
    "-p harness.pytest_plugin -p harness.pytest_plugin.options --test-list list.txt --waives-file waives.txt "
    "--results r.jsonl"
)


def _write_tree(folder: Path) -> None:
    names = []
    for number in range(_FILES):
        body = "".join(f"def test_{n}(): pass\n" for n in range(_EACH))
        (folder / f"test_{number:03}.py").write_text(body)
        names += [f"test_{number:03}.py::test_{n}" for n in range(_EACH)]
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "list.txt").write_text("".join(f"{name}\n" for name in names))
    reaching = names[:: len(names) // (_WAIVERS // 10)]
    waived = [*reaching, *(f"elsewhere/test_b.py::test_{n}[x]" for n in range(_WAIVERS - len(reaching)))]
    lines = sorted(f"{name} SKIP (https://nvbugs/{6_000_000 + n})\n" for n, name in enumerate(waived))
    (folder / "waives.txt").write_text("".join(lines))


def main(repeats: int) -> None:
    """Print milliseconds a test and the ratio, and the same as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        _write_tree(Path(folder))
        # Both without the cache of failures and without other plugins; both from a clean folder.
        pytest = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
        clean = f"cd {shlex.quote(folder)} && rm -f r.* && export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 && exec"
        commands = {
            "bare": ["bash", "-c", f"{clean} {pytest}"],
            "plugin": ["bash", "-c", f"{clean} {pytest} {_OURS}"],
        }
        median = side_by_side(commands, repeats)
    tests = _FILES * _EACH
    above = (median["plugin"] - median["bare"]) / tests * 1e3
    say(f"{machine()}; medians of {repeats}")
    say(f"bare pytest  {median['bare'] / tests * 1e3:.3f} ms a test")
    say(f"with plugin  {median['plugin'] / tests * 1e3:.3f} ms a test, {above:+.3f} ms, "
        f"times {median['plugin'] / median['bare']:.2f}")  # fmt: skip
    say(json.dumps({"tests": tests, **median, "ms_a_test_above_bare": round(above, 4)}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
