"""The order of a waiver file: upstream's sorter compares the bytes of whole lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from harness.lists.checks.finding import Finding, find, named
from harness.lists.lines import format_line
from harness.lists.model import Waiver
from harness.lists.text import WaiverFile

__all__ = ["check_order"]


def check_order(file: WaiverFile) -> Iterator[Finding]:
    """Name the fewest lines whose move sorts the file, and where each belongs."""
    keys = [_key(file, waiver) for waiver in file.waivers]
    kept = _longest_sorted(keys)
    order = [keys[index] for index in kept]
    staying = set(kept)
    for index, waiver in enumerate(file.waivers):
        if index not in staying:
            at = bisect_right(order, keys[index])
            where = (
                f"after line {file.waivers[kept[at - 1]].place.line}"
                if at
                else f"before line {file.waivers[kept[0]].place.line}"
            )
            message, expected = "not in its sorted place", f"move it {where}, or run 'harness waives fmt'"
            yield find("unsorted", waiver.place, message, expected, subject=named(waiver))


def _key(file: WaiverFile, waiver: Waiver) -> bytes:
    text = waiver.text if file.file.endswith((".yml", ".yaml")) else format_line(waiver)
    return text.encode("utf-8", "surrogateescape")


def _longest_sorted(keys: Sequence[bytes]) -> list[int]:
    """The indices of a longest subsequence that never falls; of several the one whose lines come first.

    So the line that was appended is the one to move, not those it was put behind.
    """
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    # Patience sorting from the end: how long a subsequence can be that starts with each line.
    ends: list[int] = []
    lengths: list[int] = []
    for key in reversed(keys):
        length = bisect_right(ends, -ranks[key])
        ends[length : length + 1] = [-ranks[key]]
        lengths.append(length + 1)
    lengths.reverse()
    found: list[int] = []
    wanted, last = len(ends), -1
    for index, key in enumerate(keys):
        if lengths[index] == wanted and ranks[key] >= last:
            found.append(index)
            wanted, last = wanted - 1, ranks[key]
    return found
