"""Writing one waiver as an item of `waives.yml`."""

from __future__ import annotations

from collections.abc import Iterator

from harness.lists.model import Waiver
from harness.lists.nodes import MappingNode, ScalarNode, SequenceNode, read_nodes
from harness.lists.source import Source

__all__ = ["yaml_lines", "yaml_scalar"]


def yaml_lines(waiver: Waiver, column: int) -> tuple[bytes, ...]:
    """The lines of an item whose dash stands in this column, LF at their ends."""
    lines = [f"{key}: {yaml_scalar(value)}" for key, value in _fields(waiver)]
    indent = " " * column
    texts = [f"{indent}- {lines[0]}", *(f"{indent}  {line}" for line in lines[1:])]
    return tuple(f"{text}\n".encode("utf-8", "surrogateescape") for text in texts)


def _fields(waiver: Waiver) -> Iterator[tuple[str, str]]:
    yield "test", waiver.test.text
    if waiver.head:
        yield "prefix", waiver.head
    bare = [m.name if m.name != "TIMEOUT" else f"TIMEOUT ({m.value})" for m in waiver.markers]
    yield ("marker" if len(bare) == 1 else "markers"), " ".join(bare)
    reason = waiver.reason
    for key, value in (("bug", reason.bug), ("reason", reason.note), ("owner", reason.owner)):
        if value:
            yield key, value
    if reason.until:
        yield "until", reason.until.isoformat()


def yaml_scalar(text: str) -> str:
    """The text as a YAML scalar of one line: plain where that reads back the same, else in single quotes."""
    source = Source.of(f"- k: {text}\n".encode("utf-8", "surrogateescape"), "")
    root, _, problems = read_nodes(source)
    if not problems and isinstance(root, SequenceNode) and len(root.items) == 1:
        item = root.items[0]
        value = item.pairs[0][1] if isinstance(item, MappingNode) else None
        if isinstance(value, ScalarNode) and value.plain and value.text == text:
            return text
    return "'" + text.replace("'", "''") + "'"
