"""Which lines of `waives.yml` belong to which waiver, told from the marks of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import Place, UsageError
from harness.lists.edits.document import Span
from harness.lists.model import Problem
from harness.lists.nodes import MappingNode, Node, ScalarNode, SequenceNode, read_nodes
from harness.lists.source import Source
from harness.lists.waives_yaml import parse_waives_yaml

__all__ = ["yaml_spans"]

# Problems after which what was read of an item need not be all that it says.
_HALF_READ = frozenset({"yaml-feature", "duplicate-key", "conflict-marker"})


def yaml_spans(source: Source) -> tuple[list[Span], int, tuple[Problem, ...]]:
    """The lines of every item, the column of the dashes, the problems.

    Raises UsageError when the file is no list in block style, one `- ` a waiver.
    """
    root, lines, problems = read_nodes(source)
    syntax = next((p for p in problems if p.code == "yaml-syntax"), None)
    if syntax:  # what was read round a line that is no YAML depends on that line
        raise UsageError(f"no YAML: {syntax.message}; repair it, then edit", syntax.place)
    if root is None or (isinstance(root, ScalarNode) and not root.text):
        broken = next((p for p in problems if p.severity == "error"), None)
        if broken:
            raise UsageError(f"{broken.message}; repair it, then edit", broken.place)
        return [], 0, tuple(problems)
    if not isinstance(root, SequenceNode):
        raise UsageError("no list of waivers, so nothing to edit; expected '- test: ...' items", root.place)
    column = root.place.column - 1
    starts = _dashes(root, lines, column)
    file = parse_waives_yaml(source)
    spans = []
    for item, first, following in zip(root.items, starts, [*starts[1:], len(lines) + 1], strict=True):
        last = _last(item, first, following, lines, column)
        half_read = any(p.code in _HALF_READ and first <= p.place.line <= last for p in file.problems)
        found = next((w for w in file.waivers if first <= w.place.line <= last), None)
        spans.append(Span(first, last, None if half_read else found))
    return spans, column, file.problems


def _dashes(root: SequenceNode, lines: Sequence[str], column: int) -> list[int]:
    """The line of the dash of every item: the item's own, or one above it."""
    starts: list[int] = []
    for item in root.items:
        lowest = starts[-1] if starts else 0
        line = item.place.line
        while line > lowest and not _has_dash(lines[line - 1], column):
            line -= 1
        if line == lowest:
            raise UsageError("not one '- ' a waiver, so no lines to edit; write it in block style", item.place)
        starts.append(line)
    return starts


def _has_dash(line: str, column: int) -> bool:
    return not line[:column].strip() and line[column : column + 1] == "-"


def _last(item: Node, first: int, following: int, lines: Sequence[str], column: int) -> int:
    """The last line of an item: what is indented deeper than its dash is its own, comments included."""
    last = first
    for number in range(first + 1, following):
        text = lines[number - 1]
        if text.strip() and not text[: column + 1].strip():
            last = number
    return max(last, min(_end(item), following - 1))


def _end(node: Node) -> int:
    """The line on which the last character of a node stands."""
    if isinstance(node, ScalarNode):
        end: Place = node.end
        return end.line - (end.column == 1 and end.line > node.place.line)
    children = [value for _, value in node.pairs] if isinstance(node, MappingNode) else list(node.items)
    return max([node.place.line, *(_end(child) for child in children)])
