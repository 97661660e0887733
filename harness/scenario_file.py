"""Scenario files: YAML (JSON is a part of it) read with places, written so that they read back the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.codec import CodecError, decode
from harness.errors import Place, UsageError
from harness.files import write_atomically
from harness.legality import IllegalScenarioError, check
from harness.scenario import Scenario

__all__ = ["dump_scenario", "read_scenario", "write_scenario"]

_LIMIT = 4 << 20  # bytes; a scenario of ten thousand operations is a tenth of this
_DEPTH = 8  # levels of nesting; a scenario has five


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario. Raises `UsageError` with the place and what was expected there."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", Place(str(path))) from None
    if len(data) > _LIMIT:
        raise UsageError(f"has {len(data)} bytes; a scenario has at most {_LIMIT}", Place(str(path)))
    root = _compose(data, path)
    try:
        scenario = decode(Scenario, _value(root, path, 0))
    except CodecError as error:
        raise UsageError(str(error), _place(path, _find(root, error.path, error.name_is_wrong))) from None
    try:
        check(scenario)
    except IllegalScenarioError as error:
        steps = ("config",) if error.index is None else ("operations", error.index)
        raise UsageError(str(error), _place(path, _find(root, steps))) from None
    return scenario


def dump_scenario(scenario: Scenario) -> str:
    """Return the scenario as YAML, one operation a line."""
    plain = scenario.to_data()
    head = {key: value for key, value in plain.items() if key != "operations"}
    lines = [yaml.safe_dump(head, sort_keys=False, default_flow_style=None).rstrip(), "operations:"]
    lines += [
        "- " + yaml.safe_dump(operation, default_flow_style=True, width=10**6).strip()
        for operation in plain["operations"]
    ]
    return "\n".join(lines if plain["operations"] else [*lines[:-1], "operations: []"]) + "\n"


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Write the scenario to `path`, whole or not at all."""
    write_atomically(path, dump_scenario(scenario))


def _compose(data: bytes, path: Path) -> yaml.Node:
    try:
        for event in yaml.parse(data, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):  # a few lines of them unfold to gigabytes
                raise UsageError(
                    "aliases are not allowed here; write the value out", _mark(path, event.start_mark)
                )
        root = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UsageError(f"not YAML: {what}", _mark(path, mark) if mark else Place(str(path))) from None
    except RecursionError:
        raise UsageError("nested too deeply for a scenario", Place(str(path))) from None
    if root is None:
        raise UsageError("is empty; expected a mapping with config and operations", Place(str(path)))
    return root


def _value(node: yaml.Node, path: Path, depth: int) -> Any:
    """Build plain data from nodes: no tags of their own, no object is ever made."""
    if depth > _DEPTH:
        raise UsageError("nested too deeply for a scenario", _place(path, node))
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in result:
                raise UsageError(f"{name!r} stands here a second time", _place(path, key))
            result[name] = _value(value, path, depth + 1)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, path, depth + 1) for item in node.value]
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        raise UsageError(f"{node.value!r} is not a value that a scenario has", _place(path, node)) from None


def _find(node: yaml.Node, steps: tuple[str | int, ...], name: bool = False) -> yaml.Node:
    """Follow a path of names and indices as far as it leads; to the last name itself where `name` is wanted."""
    for depth, step in enumerate(steps, 1):
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if str(key.value) == str(step)]
            if not pairs:
                return node
            node = pairs[0][0 if name and depth == len(steps) else 1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
    return node


def _place(path: Path, node: yaml.Node) -> Place:
    return _mark(path, node.start_mark)


def _mark(path: Path, mark: Any) -> Place:
    return Place(str(path), mark.line + 1, mark.column + 1)
