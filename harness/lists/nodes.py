"""YAML as plain nodes that know their place, built from parser events so that nothing is ever constructed.

Anchors, aliases and tags are reported and never followed; deep nesting is refused as it comes by, before it
can cost anything. A line that is no YAML is reported, taken for empty, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from harness.errors import Place, UsageError
from harness.lists.model import Problem
from harness.lists.source import Source, clean_lines, readable

if TYPE_CHECKING:
    from yaml import Event, ScalarEvent, YAMLError
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark

__all__ = ["MappingNode", "Node", "ScalarNode", "SequenceNode", "read_nodes"]

_MAX_DEPTH = 16
_MAX_NODES = 100_000
_MAX_BROKEN_LINES = 20


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar as one line. `plain`: without quotes; `end` is one past its last character."""

    text: str
    place: Place
    end: Place
    plain: bool


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping in file order. A key that stands twice is a problem, and here twice."""

    pairs: tuple[tuple[ScalarNode, Node], ...]
    place: Place


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


class _RefusedError(Exception):
    """The document cannot be read any further."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_nodes(source: Source) -> tuple[Node | None, list[str], list[Problem]]:
    """Read a source as one YAML document: root (None when empty or refused), cleaned lines, problems.

    Raises UsageError over the limit of nodes.
    """
    import yaml  # 15 ms that only YAML lists pay

    lines, problems = clean_lines(source)
    blanked = list(lines)
    for _ in range(_MAX_BROKEN_LINES):
        builder = _Builder(source.file)
        try:
            return builder.document("\n".join(blanked)), lines, problems + builder.problems
        except _RefusedError as refused:
            return None, lines, [*problems, *builder.problems, refused.problem]
        except RecursionError:
            return None, lines, [*problems, Problem("yaml-depth", Place(source.file), "nested too deeply")]
        except yaml.YAMLError as error:
            line, problem = _syntax_problem(error, source.file, blanked)
            problems.append(problem)
            if line is None:
                return None, lines, problems
            blanked[line] = ""
    problems.append(
        Problem("yaml-syntax", Place(source.file), "too many broken lines; nothing was read", "repair them")
    )
    return None, lines, problems


def _syntax_problem(error: YAMLError, file: str, lines: list[str]) -> tuple[int | None, Problem]:
    """The problem, and the index of the line to read as empty: None when no line is to blame."""
    mark = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    if opened is not None and "scanning a quoted scalar" in (getattr(error, "context", None) or ""):
        mark = opened  # the quote that was opened is to blame, not the end of the file
    if mark is None:
        return None, Problem("yaml-syntax", Place(file), " ".join(str(error).split())[:200])
    text = getattr(error, "problem", None) or "no YAML"
    problem = Problem(
        "yaml-syntax", Place(file, mark.line + 1, mark.column + 1), text, "quote the text or repair it"
    )
    candidates = [at.line for at in (mark, opened) if at is not None and at.line < len(lines) and lines[at.line]]
    return next(iter(candidates), None), problem


class _Builder:
    """Turns the events of one document into nodes."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.nodes = 0

    def document(self, text: str) -> Node | None:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        events: Iterator[Event] = yaml.parse(text, Loader=loader)
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    message, expected = "a second document", "keep one document a file"
                    raise _RefusedError(Problem("yaml-feature", self.at(event), message, expected))
            elif isinstance(event, yaml.NodeEvent):
                root = self.node(event, events, 1)
        return root

    def node(self, event: Event, events: Iterator[Event], depth: int) -> Node:
        import yaml

        self.check(event, depth)
        place = self.at(event)
        if isinstance(event, yaml.AliasEvent):
            return ScalarNode("", place, place, plain=True)
        if isinstance(event, yaml.ScalarEvent):
            return ScalarNode(self.one_line(event), place, self.place(event.end_mark), not event.style)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(following := next(events), yaml.SequenceEndEvent):
                items.append(self.node(following, events, depth + 1))
            return SequenceNode(tuple(items), place)
        pairs: list[tuple[ScalarNode, Node]] = []
        first: dict[str, int] = {}
        while not isinstance(following := next(events), yaml.MappingEndEvent):
            key = self.node(following, events, depth + 1)
            value = self.node(next(events), events, depth + 1)
            if not isinstance(key, ScalarNode):
                self.problems.append(Problem("wrong-type", key.place, "a key that is no text", "expected a name"))
                continue
            if key.text in first:
                message = f"'{key.text}' stands here again, first in line {first[key.text]}"
                self.problems.append(
                    Problem("duplicate-key", key.place, message, "YAML keeps only one: join both")
                )
            first.setdefault(key.text, key.place.line)
            pairs.append((key, value))
        return MappingNode(tuple(pairs), place)

    def check(self, event: Event, depth: int) -> None:
        import yaml

        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise UsageError(f"over {_MAX_NODES} values, which no list has; split it", self.at(event))
        if getattr(event, "tag", None) is not None:
            self.report_feature("tag", event)
        if isinstance(event, yaml.AliasEvent):
            self.report_feature("alias", event)
        elif getattr(event, "anchor", None) is not None:
            self.report_feature("anchor", event)
        if depth > _MAX_DEPTH:
            raise _RefusedError(Problem("yaml-depth", self.at(event), f"nested deeper than {_MAX_DEPTH} levels"))

    def one_line(self, event: ScalarEvent) -> str:
        """The value, whose escapes may have made what no list has; a block of lines is one line."""
        value: str = " ".join(event.value.splitlines())
        if readable(value) != value:
            self.problems.append(Problem("control-character", self.at(event), "an escaped control character"))
        return readable(value)

    def report_feature(self, feature: str, event: Event) -> None:
        message = f"a YAML {feature}, which is never followed"
        self.problems.append(Problem("yaml-feature", self.at(event), message, "write the value out"))

    def at(self, event: Event) -> Place:
        return self.place(event.start_mark)

    def place(self, mark: Mark | CMark | None) -> Place:
        return Place(self.file, mark.line + 1, mark.column + 1) if mark else Place(self.file)
