"""Renaming a test in waiver files and test lists together. Only whole names, never a part of another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import Place, UsageError
from harness.lists.edits.document import Document, parse_document
from harness.lists.edits.layout import insert, is_sorted, place_key, remove
from harness.lists.edits.writing import Rewrite
from harness.lists.lines import parse_entry
from harness.lists.model import Line, Problem, Token
from harness.lists.nodeid import NodeId, normalized, scopes
from harness.lists.source import Source
from harness.lists.upstream import read_upstream

__all__ = ["Renamed", "Renaming", "list_files", "rename_in"]


class Renaming(NamedTuple):
    """From one test, class, file or folder to another. What is inside it goes along."""

    old: str
    new: str

    @classmethod
    def of(cls, old: str, new: str) -> Renaming:
        """Raises UsageError unless both are names of the same kind that a list can hold."""
        for name in (old, new):
            entry, _ = parse_entry(name, Place("", 0, 1))
            if entry is None or entry.has_arguments or [t.text for t in entry.targets] != [name]:
                raise UsageError(f"'{name}' is no name of a test, file or folder")
        reading = read_upstream(f"{new} SKIP")
        if reading is None or reading.name != new:
            raise UsageError(f"upstream would read '{new}' otherwise; leave '#' and markers out of it")
        before, after = NodeId.of(normalized(old)), NodeId.of(normalized(new))
        if (not before.names, _is_file(before)) != (not after.names, _is_file(after)):
            raise UsageError(f"'{old}' and '{new}' are of two kinds; give two tests, two files or two folders")
        if before.parameters is None and after.parameters is not None:
            raise UsageError(f"'{new}' has parameters and '{old}' has none; rename each id of it")
        return cls(normalized(old), normalized(new))

    def apply(self, target: str) -> str:
        """The name that a target has afterwards: the same, unless it is or is inside what is renamed."""
        name = normalized(target)
        if all(scope != self.old for scope, _ in scopes(name)):
            return target
        start = target.index(name)
        return target[:start] + self.new + target[start + len(self.old) :]


def _is_file(nodeid: NodeId) -> bool:
    return not nodeid.names and nodeid.path.endswith(".py")


class Renamed(NamedTuple):
    """What becomes of one file: its new bytes, the names changed, the lines that name it and are unread."""

    rewrite: Rewrite
    names: tuple[tuple[Token, str], ...]
    unread: tuple[Problem, ...]


def list_files(paths: Iterable[str]) -> Iterator[str]:
    """The list and waiver files that these paths are or hold, at any depth, each once."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        if not path.exists():
            raise UsageError("does not exist; give the folder of the lists", Place(str(path)))
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            if file.suffix in (".txt", ".yml", ".yaml") and file.is_file() and file.resolve() not in seen:
                seen.add(file.resolve())
                yield str(file)


def rename_in(source: Source, renaming: Renaming) -> Renamed:
    """What renaming does to one file; nothing is written.

    A waiver file, by its name `waives...`, stays sorted if it was. Raises UsageError when a name cannot be
    rewritten where it stands, or when a waiver of the new name is there already.
    """
    document, lines, problems = _read(source)
    names = [(t, new) for line in lines for t in line.targets if (new := renaming.apply(t.text)) != t.text]
    unread = tuple(p for p in problems if p.severity == "error" and _mentions(source, p, renaming))
    if not names:
        return Renamed(Rewrite(source, source.data), (), unread)
    data = _replaced(source, names)
    after, lines_after, _ = _read(Source.of(data, source.file))
    expected = [[renaming.apply(t.text) for t in line.targets] for line in lines]
    if [[t.text for t in line.targets] for line in lines_after] != expected:
        raise UsageError("the new name would be read otherwise there; quote the entry first", names[0][0].place)
    if document and after:
        data = _settled(document, after).data
    return Renamed(Rewrite(source, data), tuple(names), unread)


def _read(source: Source) -> tuple[Document | None, Sequence[Line], Sequence[Problem]]:
    if Path(source.file).name.startswith("waive"):
        document = parse_document(source)
        return document, document.waivers, document.problems
    if source.file.endswith(".txt"):
        from harness.lists.text import parse_test_list

        flat = parse_test_list(source)
        return None, flat.entries, flat.problems
    from harness.lists.testdb import parse_test_db

    db = parse_test_db(source)
    return None, [entry for block in db.blocks for entry in block.entries], db.problems


def _mentions(source: Source, problem: Problem, renaming: Renaming) -> bool:
    line = problem.place.line
    return 0 < line <= len(source.lines) and renaming.old in source.lines[line - 1].text


def _replaced(source: Source, names: Iterable[tuple[Token, str]]) -> bytes:
    by_line: defaultdict[int, list[tuple[Token, str]]] = defaultdict(list)
    for token, new in names:
        by_line[token.place.line].append((token, new))
    pieces = []
    for raw in source.lines:
        text = raw.text
        bom = raw.body[: len(raw.body) - len(text.encode("utf-8", "surrogateescape"))]
        for token, new in sorted(by_line[raw.number], key=lambda pair: pair[0].place, reverse=True):
            start = token.place.column - 1
            if text[start : start + len(token.text)] != token.text:
                raise UsageError("the name is written with escapes or over lines; rename it by hand", token.place)
            text = text[:start] + new + text[start + len(token.text) :]
        pieces.append(bom + text.encode("utf-8", "surrogateescape") + raw.ending)
    return b"".join(pieces)


def _settled(before: Document, after: Document) -> Document:
    """The renamed file with its changed waivers at their sorted places, if the file was sorted."""
    pairs = [(a, place_key(b), place_key(a)) for b, a in zip(before.items, after.items, strict=True) if a.waiver]
    kept = {new for _, old, new in pairs if old == new}
    for item, old, new in pairs:
        if old != new and new in kept and item.waiver:
            message = f"there would be two waivers of '{new[1]}'; remove one first"
            raise UsageError(message, item.waiver.place)
    if is_sorted(after) or not is_sorted(before):
        return after
    moved = {i for i, item in enumerate(after.items) if item.data != before.items[i].data}
    result = remove(after, moved)
    for index in sorted(moved):
        result = insert(result, after.items[index])
    return result
