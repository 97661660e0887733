"""Known tests from a file of ids, one a line, or from the text that `pytest --collect-only -q` prints."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from harness.errors import Place, UsageError
from harness.lists.known.model import TestFile
from harness.lists.nodeid import NodeId

__all__ = ["IdTests", "read_ids"]

_MAX_BYTES = 256 * 1024 * 1024
_PATH = re.compile(r"[^\s\[\]:][^\s\[\]]*\.\w+")
_COLLECTION_ERROR = re.compile(r"ERROR(?: collecting)? ([^\s\[\]:]+\.\w+)(?:\s|$)")


class IdTests:
    """Tests by ids. `broken` are files that could not be collected, so that nothing is known of them."""

    def __init__(self, ids: Iterable[str], broken: Iterable[str] = ()) -> None:
        self._by_path: defaultdict[str, list[str]] = defaultdict(list)
        for nodeid in ids:
            self._by_path[nodeid.partition("::")[0]].append(nodeid)
        self._broken = frozenset(broken)
        self._files: dict[str, TestFile] = {}

    @cached_property
    def _folders(self) -> frozenset[str]:
        found = {"."}
        for path in {path.rpartition("/")[0] for path in (*self._by_path, *self._broken)}:
            while path and path not in found:
                found.add(path)
                path = path.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _holders(self) -> dict[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for path, ids in self._by_path.items():
            for name in {name for nodeid in ids for name in NodeId.of(nodeid).names}:
                found[name].add(path)
        return found

    def ids(self) -> Sequence[str]:
        """Every id, by file, in the order in which they were given."""
        return [nodeid for ids in self._by_path.values() for nodeid in ids]

    def paths(self) -> Sequence[str]:
        """Every file of tests, sorted."""
        return sorted({*self._by_path, *self._broken})

    def has_folder(self, path: str) -> bool:
        """Whether an id lies in this folder."""
        return path in self._folders

    def holders(self, name: str) -> Sequence[str]:
        """The files that hold a function or class of this name, sorted."""
        return sorted(self._holders.get(name, ()))

    def file(self, path: str) -> TestFile | None:
        """The tests of a file; None when no id names it."""
        if path not in self._files and (path in self._broken or path in self._by_path):
            self._files[path] = self._read(path)
        return self._files.get(path)

    def _read(self, path: str) -> TestFile:
        functions: defaultdict[str, set[str]] = defaultdict(set)
        for nodeid in self._by_path.get(path, ()):
            _, names, parameters = NodeId.of(nodeid)
            found = functions["::".join(names)]
            if parameters is not None:
                found.add(parameters)
        classes = {name.rpartition("::")[0] for name in functions} - {""}
        classes |= {outer for name in classes for outer in _outer(name)}
        why = "pytest could not collect it" if path in self._broken else ""
        return TestFile({n: frozenset(p) for n, p in functions.items()}, frozenset(classes), why)


def _outer(name: str) -> Iterable[str]:
    while "::" in name:
        name = name.rpartition("::")[0]
        yield name


def read_ids(path: str | os.PathLike[str]) -> IdTests:
    """Read a file of ids. Raises UsageError when it cannot be read or holds none.

    Only what stands at the start of a line and looks like `path.py::name` is an id; a summary, a warning and
    a traceback are passed over. A file that pytest failed to collect is remembered as such.
    """
    file = os.fspath(path)
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {cause}; give a file of test ids", Place(file)) from error
    if len(data) > _MAX_BYTES:
        raise UsageError(f"over {_MAX_BYTES >> 20} MiB, which no collection is", Place(file))
    ids: dict[str, None] = {}
    broken: set[str] = set()
    for line in data.decode("utf-8-sig", "replace").split("\n"):
        path_part, separator, _ = line.partition("::")
        if separator and _PATH.fullmatch(path_part):
            ids[line.rstrip()] = None
        elif line.startswith("ERROR") and (found := _COLLECTION_ERROR.match(line)):
            broken.add(found[1])
    if not ids and not broken:
        expected = "expected ids as 'pytest --collect-only -q' prints them, one a line"
        raise UsageError(f"holds no test id; {expected}", Place(file))
    return IdTests(ids, broken)
