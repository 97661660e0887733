"""Reading test-db YAML: contexts, blocks with conditions, entries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import Place, UsageError
from harness.lists.condition import Condition, parse_condition
from harness.lists.lines import parse_entry
from harness.lists.model import Entry, Problem, Token
from harness.lists.nodes import MappingNode, Node, ScalarNode, SequenceNode, read_nodes
from harness.lists.source import Source, read_source

__all__ = ["Block", "TestDb", "TestDbFile", "parse_test_db", "read_test_db"]

_COMMENT = re.compile(r"\s+(#.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A condition and the entries that run where it holds. `index` counts the blocks of its list from 0."""

    context: Token
    index: int
    place: Place
    condition: Condition
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TestDbFile:
    """One file. `contexts` are its context keys in file order, those without a block included."""

    __test__ = False  # not a class of tests, whatever pytest thinks of the name

    source: Source = field(repr=False)
    contexts: tuple[Token, ...]
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def file(self) -> str:
        """The file's name as it was given."""
        return self.source.file


@dataclass(frozen=True, slots=True)
class TestDb:
    """All files of a folder, or one file."""

    __test__ = False

    path: str
    files: tuple[TestDbFile, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order of the files' names and then of the file."""
        return tuple(block for file in self.files for block in file.blocks)

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of all contexts, each once."""
        return tuple(dict.fromkeys(token.text for file in self.files for token in file.contexts))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems of all files."""
        return tuple(problem for file in self.files for problem in file.problems)


def read_test_db(path: str | os.PathLike[str]) -> TestDb:
    """Read a `.yml` file, or every `*.yml` and `*.yaml` of a folder (not below it).

    Raises UsageError when there is nothing to read or a file cannot be read at all.
    """
    name = os.fspath(path)
    if not Path(name).is_dir():
        return TestDb(name, (parse_test_db(read_source(name)),))
    try:
        files = sorted(p for p in Path(name).iterdir() if p.suffix in (".yml", ".yaml"))
    except OSError as error:
        raise UsageError(f"cannot be listed: {error.strerror}; check its permissions", Place(name)) from error
    if not files:
        raise UsageError("holds no .yml file; give the folder of the test-db lists", Place(name))
    return TestDb(name, tuple(parse_test_db(read_source(file)) for file in files))


def parse_test_db(source: Source) -> TestDbFile:
    """Read one file from a source. Raises UsageError over the limit of values."""
    root, lines, problems = read_nodes(source)
    reader = _Reader(source.file, lines, problems)
    blocks = tuple(reader.blocks(root))
    problems.sort(key=lambda problem: problem.place)
    return TestDbFile(source, tuple(reader.contexts), blocks, tuple(problems))


class _Reader:
    """Reads the nodes of one file; a piece of the wrong shape is a problem and is left out."""

    def __init__(self, file: str, lines: list[str], problems: list[Problem]) -> None:
        self.file, self.lines, self.problems = file, lines, problems
        self.contexts: list[Token] = []

    def blocks(self, root: Node | None) -> Iterator[Block]:
        if not isinstance(root, MappingNode):
            if not self.problems:
                self.report(
                    "wrong-type",
                    root.place if root else Place(self.file),
                    "no contexts",
                    "expected '<context>:'",
                )
            return
        for key, value in root.pairs:
            if key.text == "version":
                continue
            context = Token(key.text, key.place)
            self.contexts.append(context)
            if not isinstance(value, SequenceNode):
                expected = "expected a list of '- condition: ...' blocks"
                self.report("wrong-type", value.place, f"context '{key.text}' is no list of blocks", expected)
                continue
            for index, item in enumerate(value.items):
                block = self.block(context, index, item)
                if block:
                    yield block

    def block(self, context: Token, index: int, node: Node) -> Block | None:
        if not isinstance(node, MappingNode):
            self.report(
                "wrong-type", node.place, "a block that is no mapping", "expected 'condition:' and 'tests:'"
            )
            return None
        condition: Condition | None = None
        entries: tuple[Entry, ...] | None = None
        for key, value in node.pairs:
            if key.text == "condition":
                condition, problems = parse_condition(value)
                self.problems += problems
            elif key.text == "tests":
                entries = tuple(self.entries(value))
            else:
                self.report("unknown-key", key.place, f"unknown key '{key.text}'", "expected condition or tests")
        if condition is None:
            self.report("missing-key", node.place, "a block without condition", "add 'condition:'")
        if entries is None:
            self.report("missing-key", node.place, "a block without tests", "add 'tests:', even if it is '[]'")
        return Block(context, index, node.place, condition or Condition(node.place), entries or ())

    def entries(self, node: Node) -> Iterator[Entry]:
        if not isinstance(node, SequenceNode):
            self.report("wrong-type", node.place, "'tests' is no list", "expected '- <test>' lines or '[]'")
            return
        for item in node.items:
            if not isinstance(item, ScalarNode):
                expected = "quote an entry that has ': ', '{' or '['"
                self.report("wrong-type", item.place, "an entry that is no text", expected)
                continue
            entry = self.entry(item)
            if entry:
                yield entry

    def entry(self, node: ScalarNode) -> Entry | None:
        # One past an opening quote. What spans lines or has escapes cannot be placed to the character.
        column = node.place.column + (0 if node.plain else 1)
        text = node.text + self.comment(node.end)
        entry, problems = parse_entry(text, node.place._replace(column=column))
        self.problems += problems
        if entry is None and not problems:
            self.report("empty-entry", node.place, "an entry without a test", "remove it")
        return entry

    def comment(self, end: Place) -> str:
        found = _COMMENT.match(self.lines[end.line - 1], end.column - 1) if end.line <= len(self.lines) else None
        return found[0] if found else ""

    def report(self, code: str, place: Place, message: str, suggestion: str) -> None:
        self.problems.append(Problem(code, place, message, suggestion))
