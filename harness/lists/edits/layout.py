"""Where an item goes and what goes with it: order, insertion, removal. The bytes of the rest stay."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from harness.lists.edits.document import Document, Item, ending_of, text_of
from harness.lists.edits.normal import normal_line
from harness.lists.source import MAX_LINES

__all__ = ["fit", "insert", "insert_at", "is_sorted", "place_key", "remove", "sort_key"]


def place_key(item: Item) -> tuple[str, str]:
    """What a waiver is about: the prefix it is limited to and its test, without regard to blanks."""
    assert item.waiver is not None
    return item.waiver.head, " ".join(item.waiver.test.text.split())


def sort_key(item: Item, form: str) -> bytes:
    """The bytes by which upstream's sorter compares lines; for the YAML form, those of the line it stands for."""
    assert item.waiver is not None
    if form == "yaml":
        return item.waiver.text.encode("utf-8", "surrogateescape")
    return _text_key(item.lines[0])


@lru_cache(maxsize=MAX_LINES)  # every insertion asks for the keys of all lines
def _text_key(line: bytes) -> bytes:
    return normal_line(text_of(line)).encode("utf-8", "surrogateescape")


def is_sorted(document: Document) -> bool:
    """Whether all waivers that can be read stand in order."""
    keys = [sort_key(item, document.form) for item in document.items if item.waiver]
    return all(a <= b for a, b in pairwise(keys))


def insert(document: Document, item: Item, key: bytes | None = None) -> Document:
    """Put a waiver, or what is to stand at the place of this key, after its predecessor.

    That is the greatest line that is not greater, wherever it stands; in a sorted file this is the sorted
    place. Without a predecessor it goes before the smallest line, and above the comments of that; in a file
    without a waiver, to the end.
    """
    key = sort_key(item, document.form) if key is None else key
    keys = [(sort_key(other, document.form), i) for i, other in enumerate(document.items) if other.waiver]
    before = max((pair for pair in keys if pair[0] <= key), default=None)
    if before:
        return insert_at(document, before[1] + 1, item)
    return insert_at(document, min(keys)[1] if keys else len(document.items), item)


def insert_at(document: Document, index: int, item: Item) -> Document:
    """Put an item before that of this index, with the blank lines that it needs there.

    Where every waiver of a YAML file is parted from the next by a blank line, the new one is too. A comment
    that stands by itself stays by itself.
    """
    items = list(document.items)
    ending = _ending_at(items, index)
    above = items[index - 1] if index else None
    below = items[index] if index < len(items) else None
    before, after = _parted(document, item, above, below)
    blank = [Item("blank", (ending,))]
    return document.with_items(
        [*items[:index], *blank * before, fit(item, ending), *blank * after, *items[index:]]
    )


def _parted(document: Document, item: Item, above: Item | None, below: Item | None) -> tuple[bool, bool]:
    """Whether a new item wants a blank line before it, and one after it; `remove` takes the same one away."""
    free_above, free_below = (near is None or near.kind == "blank" for near in (above, below))
    if item.kind == "comment":
        return not free_above, not free_below
    if above and above.kind == "comment" and free_below:
        return True, False
    if document.form == "text" or not item.waiver or not _is_spaced(document.items):
        return False, False
    if above and above.waiver:
        return free_below, False
    return False, free_above and below is not None and below.waiver is not None


def fit(item: Item, ending: bytes) -> Item:
    """The item with the line ending of its new neighbours."""

    def ended(lines: Iterable[bytes]) -> tuple[bytes, ...]:
        return tuple(line.removesuffix(ending_of(line)) + ending for line in lines)

    return replace(item, lines=ended(item.lines), comments=ended(item.comments))


def _ending_at(items: Sequence[Item], index: int) -> bytes:
    near = items[index - 1] if index else next(iter(items[:1]), None)
    return ending_of(near.data) if near else b"\n"


def _is_spaced(items: Sequence[Item]) -> bool:
    places = [i for i, item in enumerate(items) if item.waiver]
    return len(places) > 1 and all(any(item.kind == "blank" for item in items[a:b]) for a, b in pairwise(places))


def remove(document: Document, indices: Container[int]) -> Document:
    """Take items out, their comments with them. Of blank lines on both sides, the fewer go too."""
    items = list(document.items)
    for index in reversed(range(len(items))):
        if index in indices:
            del items[index]
            _close_gap(items, index)
    return document.with_items(items)


def _close_gap(items: list[Item], index: int) -> None:
    """Join the blank lines that met before `index`; drop those that now begin or end the file."""
    above = items[index - 1] if index else None
    below = items[index] if index < len(items) else None
    if above and below and above.kind == below.kind == "blank":
        del items[index - (len(above.lines) <= len(below.lines))]
    elif above is None and below and below.kind == "blank":
        del items[index]
    elif below is None and above and above.kind == "blank":
        del items[index - 1]
