"""Whether what a line names exists."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from harness.lists.known.model import KnownTests, TestFile
from harness.lists.nodeid import NodeId, normalized

__all__ = ["Kind", "Resolution", "Status", "resolve"]


class Status(Enum):
    """The answer; OPEN when neither yes nor no can be said without running the tests' code."""

    FOUND = "found"
    MISSING = "missing"
    OPEN = "open"


class Kind(Enum):
    """What it is that exists, is missing or stays open: the first part of a name that is not simply there."""

    FOLDER = "folder"
    FILE = "file"
    CLASS = "class"
    TEST = "test"
    PARAMETER = "parameter"


class Resolution(NamedTuple):
    """`why` says why it stays open; `name` is the part that is missing or open."""

    status: Status
    kind: Kind
    name: str
    why: str = ""


def resolve(known: KnownTests, target: str) -> Resolution:
    """Look up a node id, file or folder as a line spells it."""
    target = normalized(target)
    path, names, parameters = NodeId.of(target)
    file = known.file(path)
    if file is None:
        if not names and known.has_folder(path):
            return Resolution(Status.FOUND, Kind.FOLDER, path)
        kind = Kind.FILE if names or path.endswith(".py") else Kind.FOLDER
        return Resolution(Status.MISSING, kind, path)
    if not names:
        return Resolution(Status.FOUND, Kind.FILE, path)
    name = "::".join(names)
    if name in file.functions:
        return _parameter(file, name, parameters)
    if name in file.classes and parameters is None:
        return Resolution(Status.FOUND, Kind.CLASS, name)
    return _missing(file, names)


def _parameter(file: TestFile, name: str, parameters: str | None) -> Resolution:
    known = file.functions[name]
    if parameters is None or (known is not None and parameters in known):
        return Resolution(Status.FOUND, Kind.TEST if parameters is None else Kind.PARAMETER, name)
    if known is None:
        return Resolution(Status.OPEN, Kind.PARAMETER, parameters, "its parameters are made at run time")
    if file.open:
        return Resolution(Status.OPEN, Kind.PARAMETER, parameters, file.open)
    return Resolution(Status.MISSING, Kind.PARAMETER, parameters)


def _missing(file: TestFile, names: tuple[str, ...]) -> Resolution:
    """The outermost part of a chain of names that the file does not have."""
    for depth in range(1, len(names)):
        chain = "::".join(names[:depth])
        if chain not in file.classes:
            return Resolution(Status.OPEN if file.open else Status.MISSING, Kind.CLASS, chain, file.open)
        if chain in file.open_classes:
            return Resolution(Status.OPEN, Kind.TEST, "::".join(names), file.open_classes[chain])
    kind = Kind.CLASS if names[-1].startswith("Test") else Kind.TEST
    return Resolution(Status.OPEN if file.open else Status.MISSING, kind, "::".join(names), file.open)
