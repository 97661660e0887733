"""What list and waiver commands cost whole, against a bare interpreter: `python -m benchmarks.startup [N]`."""

from __future__ import annotations

import sys

from benchmarks.timing import machine, say, side_by_side, table

__all__: list[str] = []


def main(repeats: int) -> None:
    """Print the table."""
    harness = [sys.executable, "-m", "harness"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "harness waives check": [*harness, "waives", "check", "test_lists/waives.txt"],
        "harness lists check": [*harness, "lists", "check", "test_lists/test-db"],
        "harness lists render": [
            *harness, "lists", "render", "--test-db", "test_lists/test-db", "--context", "l0_cpu",
            "--match", "stage=pre_merge",
        ],
        "harness bugs": [*harness, "bugs"],
    }  # fmt: skip
    median = side_by_side(commands, repeats)
    base = median["python -c pass"]
    say(f"{machine()}; medians of {repeats}\n")
    say(table([(name, seconds, seconds / base) for name, seconds in median.items()], "python -c pass"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
