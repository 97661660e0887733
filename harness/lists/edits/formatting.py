"""The normal form of a waiver file: sorted as upstream's sorter does, one spelling, no line twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from harness.lists.edits.document import Document, Item, ending_of
from harness.lists.edits.layout import sort_key
from harness.lists.edits.normal import normal_item, stripped

__all__ = ["fmt"]


def fmt(document: Document) -> Document:
    """The document in normal form; with the same bytes when it is.

    Waivers are sorted between the comments that stand by themselves (headings), with the comments directly
    above each. What cannot be read stays as and where it is, and nothing moves across it. Of blank lines, the
    text form keeps one on each side of a heading; the YAML form keeps what it has between two items.
    """
    result: list[Item] = []
    section: list[Item] = []
    for item in document.items:
        if item.kind in ("comment", "other"):
            heading = replace(item, lines=stripped(item.lines)) if item.kind == "comment" else item
            result += [*_section(section, document), heading]
            section = []
        else:
            section.append(item)
    result += _section(section, document)
    if document.form == "text":
        result = list(_without_blanks(result))
    result = result[_blank_at(result[:1]) : len(result) - _blank_at(result[-1:])]
    return replace(document, items=tuple(result), final_newline=True)


def _blank_at(items: list[Item]) -> int:
    return sum(item.kind == "blank" for item in items)


def _section(section: list[Item], document: Document) -> list[Item]:
    """Sort the waivers into the places that waivers have now; blank lines between them stay."""
    waivers = [normal_item(item, document.form) for item in section if item.waiver]
    waivers.sort(key=lambda item: sort_key(item, document.form))
    places = iter(_unique(waivers))
    result: list[Item] = []
    for item in section:
        new = next(places, None) if item.waiver else replace(item, lines=_bare(item.lines))
        if new and not (new.kind == "blank" and result and result[-1].kind == "blank"):
            result.append(new)
    return result


def _bare(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(ending_of(line) for line in lines)


def _unique(waivers: Iterable[Item]) -> Iterator[Item]:
    """Each line once; the comments above a line that is dropped go to the one that stays."""
    last: Item | None = None
    for item in waivers:
        if last and last.lines == item.lines:
            more = tuple(line for line in item.comments if line not in last.comments)
            last = replace(last, comments=last.comments + more)
        else:
            if last:
                yield last
            last = item
    if last:
        yield last


def _without_blanks(items: list[Item]) -> Iterator[Item]:
    for index, item in enumerate(items):
        beside = [other.kind for other in items[max(index - 1, 0) : index + 2]]
        if item.kind != "blank":
            yield item
        elif "comment" in beside:
            yield replace(item, lines=item.lines[:1])
