"""What list and waiver commands cost whole, against a bare interpreter: `python -m benchmarks.startup [N]`."""

from __future__ import annotations

import sys

from benchmarks.figures import Figure, compared, markdown
from benchmarks.timing import machine, say, spent_in_turn

__all__ = ["measure"]

_BARE = "python -c pass"


def measure(repeats: int) -> list[Figure]:
    """Run the commands in turn."""
    harness = [sys.executable, "-m", "harness"]
    commands = {
        _BARE: [sys.executable, "-c", "pass"],
        "harness waives check": [*harness, "waives", "check", "test_lists/waives.txt"],
        "harness lists check": [*harness, "lists", "check", "test_lists/test-db"],
        "harness lists render": [
            *harness, "lists", "render", "--test-db", "test_lists/test-db", "--context", "l0_cpu",
            "--match", "stage=pre_merge",
        ],
        "harness bugs": [*harness, "bugs"],
    }  # fmt: skip
    return compared("list and waiver commands, whole", spent_in_turn(commands, repeats), _BARE)


def main(repeats: int) -> None:
    """Print the table."""
    say(f"{machine()}; medians of {repeats}\n\n{markdown(measure(repeats))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
