"""Pytest node ids as text: `path/file.py::Class::function[parameters]`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

__all__ = ["Level", "NodeId", "normalized", "scopes"]


class Level(IntEnum):
    """How widely a line names a test; the smaller, the more exact, and the more exact line wins."""

    ID = 0  # exactly this id
    ENTRY = 1  # the list entry, arguments included, through which it runs
    FUNCTION = 2  # the function, whatever its parameters
    CLASS = 3
    FILE = 4
    FOLDER = 5

    def __str__(self) -> str:
        return _NAMES[self]


_NAMES = ("exact id", "list entry", "whole function", "whole class", "whole file", "folder")


class NodeId(NamedTuple):
    """The parts of an id. `names` are classes and function; `parameters` have no brackets, None without."""

    path: str
    names: tuple[str, ...]
    parameters: str | None

    @classmethod
    def of(cls, text: str) -> NodeId:
        """Split an id. Parameters may hold `::`, `/` and brackets; a path has none."""
        path, separator, rest = text.partition("::")
        if not separator:
            return cls(path, (), None)
        name, bracket, parameters = rest.partition("[")
        return cls(path, tuple(name.split("::")), parameters.removesuffix("]") if bracket else None)


def normalized(target: str) -> str:
    """A target as an id spells it: without a leading `./` and a trailing slash."""
    return target.removeprefix("./").rstrip("/") or "."


def scopes(nodeid: str) -> Iterator[tuple[str, Level]]:
    """The id itself, then whatever holds it, narrowest first: function, classes, file, folders up to `.`.

    A path alone is taken for the file or folder it is.
    """
    path, separator, rest = nodeid.partition("::")
    if not separator:
        yield nodeid, Level.FILE if path.endswith(".py") else Level.FOLDER
    else:
        yield nodeid, Level.ID
        name, bracket, _ = rest.partition("[")
        if bracket:
            yield f"{path}::{name}", Level.FUNCTION
        while "::" in name:
            name = name.rpartition("::")[0]
            yield f"{path}::{name}", Level.CLASS
        yield path, Level.FILE
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path, Level.FOLDER
    yield ".", Level.FOLDER
