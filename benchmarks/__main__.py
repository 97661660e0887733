"""All benchmarks of this machine in one table: `python -m benchmarks [--json F] [--markdown F] [--docs]`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from json import dumps
from pathlib import Path

from benchmarks import gpu, growth, hosts, main_job, runner, scans, startup, steps
from benchmarks.figures import Figure, markdown
from benchmarks.timing import facts, say
from harness.files import write_atomically

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
START, END = "<!-- python -m benchmarks --docs writes this table -->", "<!-- its end -->"


def main() -> None:
    """Measure, and print or write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="rounds of whole commands (3)")
    parser.add_argument(
        "--forked", type=Path, metavar="DIR", help="where pytest-forked is (see benchmarks/hosts.py)"
    )
    parser.add_argument("--json", type=Path, metavar="F", help="write machine facts and figures")
    parser.add_argument("--markdown", type=Path, metavar="F", help="write the table")
    parser.add_argument("--docs", action="store_true", help=f"put the table into docs/{PAGE.name}")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8") if given.docs else ""
    if given.docs and not (START in page and END in page):
        parser.error(f"docs/{PAGE.name} has no place for the table: expected the lines {START!r} and {END!r}")
    machine = facts()
    figures = _measured(given.repeats, given.forked)
    told = ", ".join(f"{name} {value}" for name, value in machine.items())
    table = f"{told}; medians of {given.repeats} rounds and more.\n\n{markdown(figures)}\n"
    say(f"\n{table}")
    if given.json:
        content = {"machine": machine, "repeats": given.repeats, "figures": [asdict(figure) for figure in figures]}
        write_atomically(given.json, dumps(content, indent=1) + "\n")
    if given.markdown:
        write_atomically(given.markdown, table)
    if given.docs:
        before, after = page.partition(START)[0], page.partition(END)[2]
        write_atomically(PAGE, f"{before}{START}\n\n{table}\n{END}{after}")


def _measured(repeats: int, forked: Path | None) -> list[Figure]:
    """Run the parts one after the other, each with as many rounds as it needs to be steady."""
    parts: dict[str, Callable[[], list[Figure]]] = {
        "the main job": lambda: main_job.measure(repeats),
        "hosts": lambda: hosts.measure(repeats, forked),
        "steps": lambda: steps.measure(8 * repeats),
        "the runner": lambda: runner.measure(repeats, forked),
        "list and waiver commands": lambda: startup.measure(3 * repeats),
        "scans": lambda: scans.measure(repeats),
        "growth": lambda: growth.measure(repeats),
        "a GPU": lambda: gpu.measure(3 * repeats),
    }
    figures = []
    for name, measure in parts.items():
        start = time.monotonic()
        figures += measure()
        say(f"{name}: measured in {time.monotonic() - start:.0f} s")
    return figures


if __name__ == "__main__":
    main()
