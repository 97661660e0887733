"""Three-way merge of waiver files, as sets of lines keyed by test and place.

The result is OURS with what THEIRS changed: where a line stands does not matter, so a moved line is not a
removed one; a line that one side removed is removed; a line that one side changed is changed, once. Only what
both sides changed in two ways is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.errors import UsageError
from harness.lists.edits.content import Key, Said, by_key, key_of, said
from harness.lists.edits.document import Document, Form, Item, ending_of, form_of, parse_document
from harness.lists.edits.layout import fit, insert, insert_at, remove, sort_key
from harness.lists.source import Source

__all__ = ["Conflict", "Merged", "merge", "merge_sources"]


class Conflict(NamedTuple):
    """A test and place that both sides changed in different ways; an empty side removed it."""

    prefix: str
    test: str
    base: tuple[Item, ...]
    ours: tuple[Item, ...]
    theirs: tuple[Item, ...]


class Merged(NamedTuple):
    """The merged bytes, with git's markers round every conflict."""

    data: bytes
    conflicts: tuple[Conflict, ...]


class _Version(NamedTuple):
    items: tuple[Item, ...]
    said: frozenset[Said]


def merge(base: Document, ours: Document, theirs: Document) -> Merged:
    """Merge. The result keeps the order, form and line endings of OURS; what is new goes to its sorted place.

    Raises UsageError when lines that cannot be read would make the result another one than meant.
    """
    plan = _Plan(ours, theirs)
    sides = [(document, by_key(document.items)) for document in (base, ours, theirs)]
    for key in dict.fromkeys(key for _, keyed in sides for key in keyed):
        versions = []
        for document, keyed in sides:
            items = tuple(keyed.get(key, ()))
            versions.append(_Version(items, frozenset(said(item, document) for item in items)))
        plan.decide(key, *versions)
    result = plan.result()
    if not plan.conflicts:
        result = result.reread()
    return Merged(result.data, tuple(plan.conflicts))


def merge_sources(base: Source, ours: Source, theirs: Source) -> Merged:
    """Merge files, which have one form: that of the first whose name or first line tells it.

    Raises UsageError when one of them has markers of a conflict already.
    """
    forms = (form_of(source) for source in (ours, theirs, base))
    form: Form = next((form for form in forms if form), "text")
    documents = [parse_document(source, form) for source in (base, ours, theirs)]
    for document in documents:
        for problem in document.problems:
            if problem.code == "conflict-marker":
                raise UsageError(f"{problem.message}; {problem.suggestion}", problem.place)
    return merge(*documents)


class _Plan:
    """What becomes of the items of OURS, and what is put between them."""

    def __init__(self, ours: Document, theirs: Document) -> None:
        self.ours, self.theirs = ours, theirs
        self.shift = ours.column - theirs.column
        self.instead: dict[int, list[Item]] = {}  # by the identity of an item of OURS; none: it goes
        self.new: list[tuple[bytes, Item]] = []  # waivers and conflicts that OURS has no item for, with sort keys
        self.new_other: list[Item] = []
        self.conflicts: list[Conflict] = []

    def decide(self, key: Key, base: _Version, ours: _Version, theirs: _Version) -> None:
        if theirs.said in (ours.said, base.said):
            return
        if key[0] != "waiver":  # of a comment or an unread line there is nothing to change: it is there or not
            self.instead |= {id(item): [] for item in ours.items}
            self.new_other += [self.as_ours(item) for item in theirs.items[:1]]
        elif ours.said == base.said:
            self.take(ours.items, [self.as_ours(item) for item in theirs.items])
        elif blended := self.blend(base, ours, theirs):
            self.take(ours.items, [blended])
        else:
            self.clash(key, base, ours, theirs)

    def take(self, old: Sequence[Item], new: list[Item]) -> None:
        if old:
            self.instead |= {id(item): [] for item in old}
            self.instead[id(old[0])] = new
        else:
            self.new += [(sort_key(item, self.ours.form), item) for item in new]

    def blend(self, base: _Version, ours: _Version, theirs: _Version) -> Item | None:
        """One side changed the line and the other the comments above it: both changes."""
        if not len(base.items) == len(ours.items) == len(theirs.items) == 1:
            return None
        (b,), (o,), (t,) = base.said, ours.said, theirs.said
        line_of = _changed_by(b.line, o.line, t.line)
        comments_of = _changed_by(b.comments, o.comments, t.comments)
        if line_of is None or comments_of is None or self.ours.form == "yaml":
            return None
        sides = (ours.items[0], self.as_ours(theirs.items[0]))
        return replace(sides[line_of], comments=sides[comments_of].comments)

    def clash(self, key: Key, base: _Version, ours: _Version, theirs: _Version) -> None:
        _, prefix, test = key
        self.conflicts.append(Conflict(prefix, test, base.items, ours.items, theirs.items))
        ending = ending_of((ours.items or theirs.items)[0].data)
        shown = [fit(self.as_ours(item), ending).data for item in theirs.items]
        lines = [b"<<<<<<< ours" + ending, *(item.data for item in ours.items), b"=======" + ending]
        conflict = Item("other", (*lines, *shown, b">>>>>>> theirs" + ending))
        if ours.items:
            self.take(ours.items, [conflict])
        else:
            self.new.append((sort_key(theirs.items[0], self.ours.form), conflict))

    def as_ours(self, item: Item) -> Item:
        """An item of THEIRS with the indentation of OURS."""

        def shifted(lines: Sequence[bytes]) -> tuple[bytes, ...]:
            if self.shift >= 0:
                return tuple(b" " * self.shift + line for line in lines)
            return tuple(line[min(-self.shift, len(line) - len(line.lstrip(b" "))) :] for line in lines)

        return replace(item, lines=shifted(item.lines), comments=shifted(item.comments)) if self.shift else item

    def result(self) -> Document:
        items: list[Item] = []
        gone: set[int] = set()
        for item in self.ours.items:
            instead = self.instead.get(id(item))
            if instead is None:
                items.append(item)
            elif instead:
                items += [fit(new, ending_of(item.data)) if new.kind == "waiver" else new for new in instead]
            else:
                gone.add(len(items))
                items.append(item)
        result = remove(self.ours.with_items(items), gone)
        for key, item in self.new:
            result = insert(result, item, key)
        for item in self.new_other:
            result = insert_at(result, self.anchor(result, item), item)
        return result

    def anchor(self, result: Document, item: Item) -> int:
        """After what precedes the item in THEIRS, as far as that is in the result; else at the top."""
        places = {key_of(other): index for index, other in enumerate(result.items)}
        at = next(i for i, other in enumerate(self.theirs.items) if key_of(other) == key_of(item))
        for other in reversed(self.theirs.items[:at]):
            key = key_of(other)
            if key is not None and key in places:
                return places[key] + 1
        return 0


def _changed_by(base: object, ours: object, theirs: object) -> int | None:
    """0 when OURS has the value to keep, 1 when THEIRS has, None when both changed it in two ways."""
    if theirs in (base, ours):
        return 0
    return 1 if ours == base else None
