"""The whole main job against bare `import torch`, and its parts: `python -m benchmarks.main_job [REPEATS]`."""

from __future__ import annotations

import sys

from benchmarks.figures import Figure, compared, markdown
from benchmarks.timing import Spent, machine, now, say, spent_in_turn
from harness.catalogue import find_bug, load_reproducer
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.reproduce import Parameters

__all__ = ["IMPORT_TORCH", "measure"]

_PART = "the main job"
IMPORT_TORCH = {"python -c 'import torch'": [sys.executable, "-W", "ignore", "-c", "import torch"]}


def measure(repeats: int) -> list[Figure]:
    """Run the whole command and the bare import in turn; no round is left out, as nobody's first run is."""
    spent_in_turn(IMPORT_TORCH, 1, warm=0)  # its files are read from disk once
    commands = {**IMPORT_TORCH, "harness repro 6535874": [sys.executable, "-m", "harness", "repro", "6535874"]}
    return compared(_PART, spent_in_turn(commands, repeats, warm=0), next(iter(IMPORT_TORCH)))


def _parts() -> dict[str, list[Spent]]:
    """Return what the job consists of, measured once in this process; hosts' processor time is not in it."""
    reproducer = load_reproducer(find_bug("6535874"))
    parameters = Parameters(regimes=("exact", "production", "headroom", "unset"))
    cases = list(reproducer.cases(parameters))
    marks = [now()]
    with Launcher() as launcher:
        launcher.describe()
        marks.append(now())
        one = Run(cases[0].scenario, Monitor(cases[0].scenario))
        for _ in range(2):
            launcher.run(one)
            marks.append(now())
        ended = sum(1 for _ in launcher.run_all([Run(c.scenario, Monitor(c.scenario)) for c in cases]))
        marks.append(now())
    names = (
        "hosts start (import torch, rehearsal)", "layouts and a first case", "one case alone",
        f"{ended} cases on all cores",
    )  # fmt: skip
    return {name: [end.less(start)] for name, start, end in zip(names, marks, marks[1:], strict=False)}


def main(repeats: int) -> None:
    """Print both."""
    figures = [*measure(repeats), *compared("of it", _parts())]
    say(f"{machine()}; medians of {repeats}\n\n{markdown(figures)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
