"""A waiver file as items that stay together when lines move, of which every byte can be had back."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from harness.errors import Place, UsageError
from harness.lists.model import Problem, Waiver
from harness.lists.source import Source, read_source, readable
from harness.lists.text import parse_waives_text

__all__ = [
    "Document",
    "Form",
    "Item",
    "Span",
    "ending_of",
    "form_of",
    "parse_document",
    "read_document",
    "text_of",
]

Form = Literal["text", "yaml"]
_Kind = Literal["waiver", "comment", "blank", "other"]

# A notice that opens a file is the file's, even where no blank line parts it from the first waiver.
_NOTICE = re.compile(r"SPDX-|copyright|licen[cs]e", re.IGNORECASE)
_YAML_OPENS = re.compile(r"-(?:\s|$)|---|%YAML|\[")


@dataclass(frozen=True, slots=True)
class Item:
    """Whole lines, endings included, that are one thing.

    `comments` are the comment lines directly above a waiver (or above a line that cannot be read): they are
    its own and go where it goes. A comment that a blank line or the end of the file follows is an item
    itself. `line` is the number of the first of `lines`.
    """

    kind: _Kind
    lines: tuple[bytes, ...]
    comments: tuple[bytes, ...] = ()
    waiver: Waiver | None = None
    line: int = 0

    @property
    def data(self) -> bytes:
        """All bytes of the item."""
        return b"".join((*self.comments, *self.lines))


class Span(NamedTuple):
    """The lines `first` to `last` say one waiver: None when they cannot be read."""

    first: int
    last: int
    waiver: Waiver | None


@dataclass(frozen=True, slots=True)
class Document:
    """A waiver file in items. `column` is that of the dashes in the YAML form, counted from 0.

    Here every line has an ending; `final_newline` remembers whether the last line of the file has one, so
    that a file without it stays one, whichever line comes last.
    """

    source: Source = field(repr=False)
    form: Form
    items: tuple[Item, ...]
    problems: tuple[Problem, ...] = ()
    bom: bytes = b""
    final_newline: bool = True
    column: int = 0

    @property
    def data(self) -> bytes:
        """The bytes of the file that these items make."""
        body = b"".join(item.data for item in self.items)
        return self.bom + (body if self.final_newline else body.removesuffix(ending_of(body)))

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """All waivers that can be read, in file order."""
        return tuple(item.waiver for item in self.items if item.waiver)

    def with_items(self, items: Iterable[Item]) -> Document:
        """The same file with other items."""
        return replace(self, items=tuple(items))

    def reread(self) -> Document:
        """The document that somebody reads who finds these bytes on disk.

        Raises UsageError when that has other waivers: what stands around a line can change what it says.
        """
        again = parse_document(Source.of(self.data, self.source.file), self.form)
        ours, theirs = ([(w.head, w.test.text.split()) for w in side.waivers] for side in (self, again))
        if ours != theirs:
            raise UsageError("lines would be read otherwise after this; repair the file first", self._trouble())
        return again

    def _trouble(self) -> Place:
        return next((p.place for p in self.problems if p.severity == "error"), Place(self.source.file))


def read_document(path: str) -> Document:
    """Read a waiver file of either form. Raises UsageError when it cannot be read or not be edited."""
    return parse_document(read_source(path))


def parse_document(source: Source, form: Form | None = None) -> Document:
    """Cut a source into items. `form` is told from the file's name, or from its first line where the name
    is a temporary one, as git gives them to a merge driver. Raises UsageError for YAML in no editable shape.
    """
    form = form or form_of(source) or "text"
    column = 0
    if form == "yaml":
        from harness.lists.edits.yaml_items import yaml_spans

        spans, column, problems = yaml_spans(source)
    else:
        file = parse_waives_text(source)
        spans, problems = [Span(w.place.line, w.place.line, w) for w in file.waivers], file.problems
    bom = codecs.BOM_UTF8 if source.data.startswith(codecs.BOM_UTF8) else b""
    lines = [line.body + line.ending for line in source.lines]
    if bom:
        lines = ([first] if (first := lines[0].removeprefix(bom)) else []) + lines[1:]
    final_newline = not lines or bool(ending_of(lines[-1]))
    if not final_newline:
        lines[-1] += ending_of(lines[-2]) if len(lines) > 1 else b"\n"
    items = tuple(_items(lines, {span.first: span for span in spans}))
    return Document(source, form, items, problems, bom, final_newline, column)


def form_of(source: Source) -> Form | None:
    """The form of a file, by its name or else by its first line; None when neither tells."""
    name = source.file.lower()
    if name.endswith((".yml", ".yaml")):
        return "yaml"
    if name.endswith(".txt"):
        return "text"
    texts = (line.text.strip() for line in source.lines)
    first = next((text for text in texts if text and not text.startswith("#")), "")
    return ("yaml" if _YAML_OPENS.match(first) else "text") if first else None


def ending_of(line: bytes) -> bytes:
    """The one line ending at the end of these bytes, if there is one."""
    return next((ending for ending in (b"\r\n", b"\n", b"\r") if line.endswith(ending)), b"")


def _items(lines: Sequence[bytes], spans: dict[int, Span]) -> Iterator[Item]:
    comments: list[bytes] = []
    blanks: list[bytes] = []
    number = 1
    while number <= len(lines):
        span, text = spans.get(number), readable(text_of(lines[number - 1])).strip()
        last = span.last if span else number
        own = tuple(lines[number - 1 : last])
        if blanks and (text or span):
            yield Item("blank", tuple(blanks), line=number - len(blanks))
            blanks.clear()
        if span is None and text.startswith("#"):
            comments.append(own[0])
        elif span is None and not text:
            if comments:
                yield Item("comment", tuple(comments), line=number - len(comments))
                comments.clear()
            blanks.append(own[0])
        else:
            if number - len(comments) == 1 and any(_NOTICE.search(text_of(line)) for line in comments):
                yield Item("comment", tuple(comments), line=1)
                comments.clear()
            waiver = span.waiver if span else None
            yield Item("waiver" if waiver else "other", own, tuple(comments), waiver, number)
            comments.clear()
        number = last + 1
    if comments or blanks:
        kind: _Kind = "comment" if comments else "blank"
        yield Item(kind, tuple(comments or blanks), line=number - len(comments or blanks))


def text_of(line: bytes) -> str:
    """A line as text, without its ending."""
    return line.removesuffix(ending_of(line)).decode("utf-8", "surrogateescape")
