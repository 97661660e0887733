"""What an item says, without regard to how it is spelt: by this, merge and diff tell items apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from harness.lists.edits.document import Document, Item
from harness.lists.edits.layout import place_key, sort_key
from harness.lists.source import readable

__all__ = ["Key", "Said", "by_key", "key_of", "said"]

Key = tuple[str, ...]


class Said(NamedTuple):
    """The line that a waiver is, and its comments."""

    line: bytes
    comments: tuple[bytes, ...]


def key_of(item: Item) -> Key | None:
    """What an item is about: test and place of a waiver, the text of anything else. None for blank lines."""
    if item.kind == "blank":
        return None
    if item.waiver:
        return ("waiver", *place_key(item))
    return (item.kind, readable(b"\n".join(_bare(item.comments + item.lines)).decode("utf-8", "surrogateescape")))


def by_key(items: Iterable[Item]) -> dict[Key, list[Item]]:
    """The items, blank lines left out, in file order. What stands twice has two items."""
    found: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        if (key := key_of(item)) is not None:
            found[key].append(item)
    return dict(found)


def said(item: Item, document: Document) -> Said:
    """What an item says."""
    if item.waiver is None:
        return Said(b"", ())
    inner = () if document.form == "text" else tuple(_yaml_comments(item.lines))
    return Said(sort_key(item, document.form), (*_bare(item.comments), *inner))


def _bare(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(line.strip() for line in lines)


def _yaml_comments(lines: Iterable[bytes]) -> Iterable[bytes]:
    """What may be a comment in an item. Text after ` #` in quotes is taken for one too: that is only stricter."""
    for line in lines:
        _, mark, rest = line.partition(b" #")
        if mark:
            yield rest.strip()
