"""What is known of tests, whatever it was learnt from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

__all__ = ["KnownTests", "Parameters", "TestFile", "merged"]

Parameters: TypeAlias = frozenset[str] | None
"""The parameter ids of a function: empty when it has no parameters, None when they cannot be computed."""


@dataclass(frozen=True, slots=True)
class TestFile:
    """The tests of one file: `Class::method` -> parameters, and the class names, outer ones included.

    `open` says why more tests may be there than these; "" when these are all. `open_classes` says so for
    single classes, whose methods may come from a base class that is not known.
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of the name

    functions: Mapping[str, Parameters]
    classes: frozenset[str] = frozenset()
    open: str = ""
    open_classes: Mapping[str, str] = field(default_factory=dict)


class KnownTests(Protocol):
    """Look-ups for a check. Everything is computed at the first question about it."""

    def paths(self) -> Sequence[str]:
        """Every file of tests, sorted."""

    def has_folder(self, path: str) -> bool:
        """Whether a folder is there, `.` included."""

    def file(self, path: str) -> TestFile | None:
        """The tests of a file; None when there is no such file."""

    def holders(self, name: str) -> Sequence[str]:
        """The files that hold a function or class of this bare name, sorted; for suggestions only."""


def merged(sources: Sequence[KnownTests]) -> KnownTests | None:
    """All of them as one, None for none."""
    if len(sources) < 2:
        return sources[0] if sources else None
    return _Merged(sources)


class _Merged:
    """Several sources: what one of them knows is known; what one of them knows in full is not open."""

    def __init__(self, sources: Sequence[KnownTests]) -> None:
        self._sources = sources

    def paths(self) -> Sequence[str]:
        return _union(source.paths() for source in self._sources)

    def has_folder(self, path: str) -> bool:
        return any(source.has_folder(path) for source in self._sources)

    def holders(self, name: str) -> Sequence[str]:
        return _union(source.holders(name) for source in self._sources)

    def file(self, path: str) -> TestFile | None:
        files = [file for source in self._sources if (file := source.file(path)) is not None]
        return files[0] if len(files) == 1 else _joined(files)


def _joined(files: Sequence[TestFile]) -> TestFile | None:
    if not files:
        return None
    functions: dict[str, Parameters] = {}
    for file in files:
        for name, parameters in file.functions.items():
            known = functions.get(name)
            functions[name] = parameters if known is None else known | (parameters or frozenset())
    complete = any(not file.open for file in files)
    return TestFile(
        functions,
        frozenset().union(*(file.classes for file in files)),
        "" if complete else files[0].open,
        {} if complete else {name: why for file in files for name, why in file.open_classes.items()},
    )


def _union(parts: Iterable[Sequence[str]]) -> Sequence[str]:
    return sorted({item for part in parts for item in part})
