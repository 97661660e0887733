"""How work grows with 1, 2, 4, 8 times the orders, rows, waivers, tests: `python -m benchmarks.growth [REPEATS]`.

Each figure is the largest size's seconds and the exponent that fits all four: 1 is work that grows as its size
does. All run in this process, hosts too (`--isolation none`), so that the processor time is all of it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.figures import Figure, grown, markdown
from benchmarks.scans import entries, test_ids, waivers
from benchmarks.steps import judged_step, stepping
from benchmarks.timing import in_turn, machine, say, told_in_turn
from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.lists import Entry, WaiverIndex, match_entries, read_waives
from harness.lists.checks import Against, check_waivers
from harness.lists.known import IdTests
from harness.orders import DEFAULT_BUCKETS, all_orders
from harness.reproduce import Parameters, reproduce

__all__ = ["measure"]

_TIMES = (1, 2, 4, 8)
_ORDERS, _SEATS, _WAIVERS, _TESTS = 3, 16, 500, 5_000


def _orders(launcher: Launcher, count: int) -> None:
    parameters = Parameters(("dflash",), ("production",), ("bucket",), all_orders(DEFAULT_BUCKETS)[:count])
    reproduce(load_reproducer(find_bug("6535874")), parameters, launcher)


def _waivers(file: Path, known: IdTests, listed: Sequence[Entry]) -> None:
    check_waivers(read_waives(file), Against(known, listed=listed, today=date(2026, 1, 1)))


def _tests(ids: Sequence[str], listed: Sequence[Entry], index: WaiverIndex) -> None:
    match_entries(listed, ids)
    for nodeid in ids:
        index.find(nodeid)


def _grown(what: str, size: int, way: Callable[[int], Callable[[], object]], repeats: int) -> Figure:
    ways = {str(n * size): way(n * size) for n in _TIMES}
    rounds = in_turn(ways, repeats)
    return grown("growth", what, {int(name): spent for name, spent in rounds.items()})


def _rows(launcher: Launcher, repeats: int) -> Figure:
    scenarios = {n * _SEATS: stepping("dflash", n * _SEATS, n * _SEATS, (n * _SEATS,)) for n in _TIMES}
    ways = {str(seats): partial(judged_step, launcher, scenario) for seats, scenario in scenarios.items()}
    rounds = told_in_turn(ways, repeats)
    return grown("growth", "a judged step, rows", {int(name): spent for name, spent in rounds.items()})


def measure(repeats: int) -> list[Figure]:
    """Return a figure a kind of size."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    ids = test_ids(8 * _TESTS)
    known, listed, index = IdTests(ids), entries(ids, 2 * _TESTS), WaiverIndex(waivers(ids, _WAIVERS))
    gc.collect()
    gc.freeze()  # torch's objects are in no list command's way
    with Launcher(isolation="none") as launcher, TemporaryDirectory() as folder:
        files = {n * _WAIVERS: Path(folder) / f"{n}.txt" for n in _TIMES}
        for count, file in files.items():
            file.write_text("".join(f"{waiver.text}\n" for waiver in waivers(ids, count)), encoding="utf-8")
        return [
            _grown("orders of the main job", _ORDERS, lambda n: partial(_orders, launcher, n), repeats),
            _rows(launcher, repeats),
            _grown("waivers, checked", _WAIVERS, lambda n: partial(_waivers, files[n], known, listed), repeats),
            _grown(
                "tests, selected and waived", _TESTS, lambda n: partial(_tests, ids[:n], listed, index), repeats
            ),
        ]


if __name__ == "__main__":
    say(f"{machine()}\n\n{markdown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3))}")
