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
    """The indices of a longest subsequence that never falls (patience sorting, n log n)."""
    ends: list[bytes] = []
    last: list[int] = []  # for each length, the index at which the smallest such subsequence ends
    before: list[int] = [-1] * len(keys)
    for index, key in enumerate(keys):
        length = bisect_right(ends, key)
        before[index] = last[length - 1] if length else -1
        ends[length : length + 1] = [key]
        last[length : length + 1] = [index]
    found: list[int] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]
