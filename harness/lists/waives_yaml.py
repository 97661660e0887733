"""Reading `waives.yml`: a list of mappings with the fields of a `waives.txt` line."""

from __future__ import annotations

from dataclasses import replace

from harness.lists.lines import format_line, parse_entry, parse_markers, parse_waiver
from harness.lists.model import Marker, Problem, Token, Waiver
from harness.lists.nodes import MappingNode, Node, ScalarNode, SequenceNode, read_nodes
from harness.lists.reason import parse_reason
from harness.lists.source import Source
from harness.lists.text import WaiverFile

__all__ = ["parse_waives_yaml"]

_FIELDS = ("test", "prefix", "marker", "markers", "reason", "bug", "owner", "until")


def parse_waives_yaml(source: Source) -> WaiverFile:
    """Read `waives.yml` from a source. Raises UsageError over the limit of values.

    Each item: `test` with its arguments; `prefix`, the stage-name head; `marker` or `markers`, written as in
    the text form (`XFAIL`, `TIMEOUT (90)`); `reason`, `bug`, `owner`, `until`, which make up the reason.
    """
    root, _, problems = read_nodes(source)
    waivers: list[Waiver] = []
    if isinstance(root, SequenceNode):
        for item in root.items:
            waiver, more = _waiver(item)
            problems += more
            if waiver:
                waivers.append(waiver)
    elif root is not None:
        problems.append(Problem("wrong-type", root.place, "no list of waivers", "expected '- test: ...' items"))
    return WaiverFile(source, tuple(waivers), tuple(sorted(problems, key=lambda problem: problem.place)))


def _waiver(node: Node) -> tuple[Waiver | None, list[Problem]]:
    if not isinstance(node, MappingNode):
        return None, [Problem("wrong-type", node.place, "a waiver that is no mapping", "expected '- test: ...'")]
    fields: dict[str, Token] = {}
    problems: list[Problem] = []
    for key, value in node.pairs:
        if key.text not in _FIELDS:
            expected = f"expected one of {', '.join(_FIELDS)}"
            problems.append(Problem("unknown-key", key.place, f"unknown field '{key.text}'", expected))
        elif (text := _text(key.text, value)) is None:
            problems.append(Problem("wrong-type", value.place, f"'{key.text}' is no text", "expected text"))
        else:
            # One past an opening quote, so that a token stands where its text does.
            quoted = isinstance(value, ScalarNode) and not value.plain
            fields[key.text] = Token(text, value.place._replace(column=value.place.column + quoted))
    if problems:
        return None, problems
    if "test" not in fields:
        return None, [Problem("no-test", node.place, "a waiver without a test", "add 'test: ...'")]
    return _from_fields(fields, _last_line(node))


def _text(field: str, node: Node) -> str | None:
    if isinstance(node, ScalarNode):
        return node.text
    if field == "markers" and isinstance(node, SequenceNode):
        texts = [item.text for item in node.items if isinstance(item, ScalarNode)]
        return " ".join(texts) if len(texts) == len(node.items) else None
    return None


def _from_fields(fields: dict[str, Token], last_line: int) -> tuple[Waiver | None, list[Problem]]:
    line, problems = parse_entry(*fields["test"])
    markers: list[Marker] = []
    for name in ("marker", "markers"):
        if name in fields:
            more, found = parse_markers(*fields[name])
            markers += more
            problems += found
    if line is None or line.markers or not markers:
        place = fields["test"].place
        problems += [] if problems else [Problem("no-marker", place, "no test, or no 'marker' field", "add both")]
        return None, problems
    value = _reason_token(fields)
    reason, more_problems = parse_reason(value)
    explained = next((i for i, m in enumerate(markers) if m.name != "TIMEOUT" and m.value is None), None)
    if value and explained is not None:
        markers[explained] = replace(markers[explained], value=value)
    waiver = Waiver(
        place=line.place,
        last_line=last_line,
        text="",
        prefix=fields.get("prefix"),
        test=line.test,
        targets=line.targets,
        keyword=line.keyword,
        markexpr=line.markexpr,
        options=line.options,
        markers=tuple(markers),
        comment=line.comment,
        reason=reason,
    )
    waiver = replace(waiver, text=format_line(replace(waiver, comment=None)))
    problems += more_problems
    return _if_writable(waiver, problems)


def _if_writable(waiver: Waiver, problems: list[Problem]) -> tuple[Waiver | None, list[Problem]]:
    """Refuse a waiver that no line of the text form can say, such as one with a blank in its prefix."""
    again, found = parse_waiver(waiver.text, waiver.place)
    if again and (again.head, again.test.text) == (waiver.head, waiver.test.text):
        return waiver, problems
    code = found[0].code if found else "bad-prefix"
    message = f"as a line this would be broken: {found[0].message}" if found else "test and prefix do not fit"
    return None, [*problems, Problem(code, waiver.place, message, f"it would read {waiver.text[:80]}")]


def _reason_token(fields: dict[str, Token]) -> Token | None:
    """The text that the fields make in the parentheses of a `waives.txt` line."""
    said = [fields[name] for name in ("bug", "reason") if name in fields]
    said += [Token(f"{name}={fields[name]}", fields[name].place) for name in ("owner", "until") if name in fields]
    return Token("; ".join(token.text for token in said), said[0].place) if said else None


def _last_line(node: Node) -> int:
    if isinstance(node, ScalarNode):
        return node.end.line
    children = [value for _, value in node.pairs] if isinstance(node, MappingNode) else list(node.items)
    return max([node.place.line, *(_last_line(child) for child in children)])
