"""What is different between two waiver files: lines added, removed, changed, moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from harness.lists.edits.content import Key, by_key, said
from harness.lists.edits.document import Document, Item
from harness.lists.model import Waiver

__all__ = ["Change", "Difference", "diff"]


class Change(NamedTuple):
    """A waiver that says something else now. `fields`: what, from and to."""

    before: Item
    after: Item
    fields: dict[str, tuple[str, str]]


class Difference(NamedTuple):
    """All differences, in file order. Lines that cannot be read are added and removed as they are written."""

    added: tuple[Item, ...]
    removed: tuple[Item, ...]
    changed: tuple[Change, ...]
    moved: tuple[tuple[Item, Item], ...]

    def __bool__(self) -> bool:
        return any(self[:])


def diff(before: Document, after: Document) -> Difference:
    """Compare as sets keyed by test and place. Blank lines and comments by themselves are no difference.

    Moved is the least number of lines that must move so that the others are in the same order.
    """
    old, new = (
        {(*key, str(n)): item for key, items in by_key(document.items).items() for n, item in enumerate(items)}
        for document in (before, after)
    )
    old, new = ({key: item for key, item in side.items() if key[0] != "comment"} for side in (old, new))
    common = [key for key in old if key in new]
    changes = []
    for key in common:
        fields = _fields(old[key], new[key], before, after)
        if fields:
            changes.append(Change(old[key], new[key], fields))
    return Difference(
        tuple(item for key, item in new.items() if key not in old),
        tuple(item for key, item in old.items() if key not in new),
        tuple(changes),
        tuple((old[key], new[key]) for key in _moved(common, old, new)),
    )


def _fields(old: Item, new: Item, before: Document, after: Document) -> dict[str, tuple[str, str]]:
    if old.waiver is None or new.waiver is None:
        return {}
    a, b = _values(old.waiver), _values(new.waiver)
    changed = {name: (a[name], b[name]) for name in a if a[name] != b[name]}
    texts = [_comment(item, document) for item, document in ((old, before), (new, after))]
    if texts[0] != texts[1]:
        changed["comment"] = (texts[0], texts[1])
    return changed


def _values(waiver: Waiver) -> dict[str, str]:
    reason = waiver.reason
    markers = [m.name if m.name != "TIMEOUT" else f"TIMEOUT ({m.value})" for m in waiver.markers]
    return {
        "marker": " ".join(markers),
        "bug": reason.bug,
        "owner": reason.owner,
        "until": reason.until.isoformat() if reason.until else "",
        "reason": reason.note,
    }


def _comment(item: Item, document: Document) -> str:
    inline = item.waiver.comment.text if item.waiver and item.waiver.comment else ""
    above = [line.decode("utf-8", "replace") for line in said(item, document).comments]
    return " ".join([*above, *([inline] if inline else [])])


def _moved(common: Sequence[Key], old: dict[Key, Item], new: dict[Key, Item]) -> list[Key]:
    """The keys outside a longest run that is in the same order on both sides."""
    by_line = sorted(common, key=lambda key: old[key].line)
    tails: list[int] = []
    ends: list[int] = []
    previous: dict[int, int] = {}
    lines = [new[key].line for key in by_line]
    for index, line in enumerate(lines):
        at = bisect_left(tails, line)
        tails[at : at + 1] = [line]
        ends[at : at + 1] = [index]
        if at:
            previous[index] = ends[at - 1]
    kept: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = previous.get(last)
    return [key for index, key in enumerate(by_line) if index not in kept]
