"""List and waiver work against a straightforward scan: `python -m benchmarks.scans [REPEATS]`.

The scan is what a short conftest does: for every test it goes through all lines, and for every name through all
tests, comparing text. It is written as tightly as that allows: names are taken apart once, `str.startswith` does
the comparing, and what is most like a wrong name is found by difflib. Both must give the same answers.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Sequence

from benchmarks.figures import Figure, compared, markdown
from benchmarks.timing import in_turn, machine, say
from harness.errors import Place
from harness.lists import Entry, Waiver, WaiverIndex, match_entries, parse_entry, parse_waiver
from harness.lists.checks.names import check_names
from harness.lists.known import IdTests

__all__ = ["entries", "measure", "test_ids", "waivers"]

_OURS, _SCAN = "harness", "a scan of all lines"
_IDS, _WAIVERS, _ENTRIES, _WRONG = 10_000, 1_000, 300, 5


def test_ids(count: int) -> list[str]:
    """Return ids as a large suite has them: fifty functions a file, four parameters each."""
    return [
        f"suite{n // 2000}/test_file{n // 200}.py::test_function{n // 4 % 50}[size{n % 4}-bf16]"
        for n in range(count)
    ]


def waivers(ids: Sequence[str], count: int, wrong: int = 0) -> list[Waiver]:
    """Return waivers of as many functions, nine of ten of one parameter alone; `wrong` have a letter mistaken."""
    first = [nodeid for nodeid in ids if "[size0-" in nodeid]
    named = sorted(first[n * len(first) // count] for n in range(count))
    named = [name if n % 10 else name.partition("[")[0] for n, name in enumerate(named)]
    for n in range(wrong):
        named[n * count // wrong] = named[n * count // wrong].replace("function", "functiom")
    lines = (f"{name} SKIP (https://nvbugs/{6_000_000 + n})" for n, name in enumerate(named))
    return [waiver for n, text in enumerate(lines) if (waiver := _waiver(text, n + 1))]


def _waiver(text: str, line: int) -> Waiver | None:
    return parse_waiver(text, Place("waives.txt", line))[0]


def entries(ids: Sequence[str], count: int) -> list[Entry]:
    """Return list entries that each name a function, which is four ids."""
    names = [ids[n * len(ids) // count].partition("[")[0] for n in range(count)]
    parsed = [parse_entry(name, Place("list.txt", n + 1))[0] for n, name in enumerate(names)]
    return [entry for entry in parsed if entry is not None]


def _scan_waivers(given: Sequence[Waiver], ids: Sequence[str]) -> list[str]:
    """Return the waiver that decides about each id, "" for none: the longest name, the later of two."""
    lines = [(w.test.text, (f"{w.test.text}[", f"{w.test.text}::", f"{w.test.text}/"), w.text) for w in given]
    found = []
    for nodeid in ids:
        best, said = "", ""
        for name, starts, text in lines:
            if len(name) >= len(best) and (nodeid == name or nodeid.startswith(starts)):
                best, said = name, text
        found.append(said)
    return found


def _index_waivers(given: Sequence[Waiver], ids: Sequence[str]) -> list[str]:
    index = WaiverIndex(given)
    return [found.waiver.text if (found := index.find(nodeid)) else "" for nodeid in ids]


def _scan_entries(given: Sequence[Entry], ids: Sequence[str]) -> list[tuple[str, ...]]:
    found = []
    for entry in given:
        name = entry.test.text
        starts = (f"{name}[", f"{name}::", f"{name}/")
        found.append(tuple(nodeid for nodeid in ids if nodeid == name or nodeid.startswith(starts)))
    return found


def _match_entries(given: Sequence[Entry], ids: Sequence[str]) -> list[tuple[str, ...]]:
    return [selected.ids for selected in match_entries(given, ids)]


def _scan_names(given: Sequence[Waiver], ids: Sequence[str]) -> list[int]:
    """Return the lines whose name is nobody's, having looked for what was meant."""
    found = []
    for waiver in given:
        name = waiver.test.text
        starts = (f"{name}[", f"{name}::", f"{name}/")
        if not any(nodeid == name or nodeid.startswith(starts) for nodeid in ids):
            difflib.get_close_matches(name, ids)
            found.append(waiver.place.line)
    return found


def _unknown_names(given: Sequence[Waiver], ids: Sequence[str]) -> list[int]:
    """Return the same from the checks of the harness."""
    known = IdTests(ids)
    return [finding.place.line for finding in check_names(given, known) if finding.severity == "error"]


def _both(part: str, ours: Callable[[], object], scan: Callable[[], object], repeats: int) -> list[Figure]:
    if ours() != scan():
        raise RuntimeError(f"{part}: the scan and the harness do not say the same")
    return compared(part, in_turn({_OURS: ours, _SCAN: scan}, repeats, warm=0), _OURS)


def measure(repeats: int) -> list[Figure]:
    """Return the figures of all three kinds of work."""
    ids = test_ids(_IDS)
    good, some_wrong = waivers(ids, _WAIVERS - 1), waivers(ids, _WAIVERS // 10, _WRONG)
    # A whole file, behind those of its tests: where both apply, the narrower decides.
    good += filter(None, [_waiver(f"{ids[0].partition('::')[0]} SKIP (https://nvbugs/1)", _WAIVERS)])
    listed = entries(ids, _ENTRIES)
    return [
        *_both(
            f"which of {_WAIVERS:,} waivers decides, {_IDS:,} tests",
            lambda: _index_waivers(good, ids), lambda: _scan_waivers(good, ids), repeats,
        ),
        *_both(
            f"what {_ENTRIES} entries select of {_IDS:,} tests",
            lambda: _match_entries(listed, ids), lambda: _scan_entries(listed, ids), repeats,
        ),
        *_both(
            f"{_WRONG} wrong names of {_WAIVERS // 10} in {_IDS:,} tests, and what was meant",
            lambda: _unknown_names(some_wrong, ids), lambda: _scan_names(some_wrong, ids), repeats,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    say(f"{machine()}\n\n{markdown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3))}")
