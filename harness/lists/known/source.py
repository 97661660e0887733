"""Known tests from source files, parsed one by one as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from harness.errors import Place, UsageError
from harness.lists.known.collect import collect
from harness.lists.known.imports import Modules
from harness.lists.known.model import TestFile
from harness.lists.known.scan import Module, is_file

__all__ = ["SourceTests"]

_MAX_FILES = 20_000
_MAX_SEARCHED_BYTES = 64 * 1024 * 1024
_SKIPPED = frozenset(("__pycache__", "node_modules", "build", "dist"))


class SourceTests:
    """The tests below a folder that list entries are relative to. No file is imported or run.

    Classes `Test*`, those derived from `TestCase`, and functions `test*` are tests. Parameters are known
    where every part of them is literal.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raise UsageError when the folder is none."""
        self._root = Path(folder).absolute()
        if not self._root.is_dir():
            raise UsageError("is no folder; give the folder that test names start from", Place(str(folder)))
        self._modules = Modules([self._root])
        self._files: dict[str, TestFile | None] = {}
        self._holders: dict[str, Sequence[str]] = {}

    @cached_property
    def _paths(self) -> list[str]:
        found: list[str] = []
        for folder, inner, files in os.walk(self._root):
            inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in _SKIPPED)
            below = Path(folder).relative_to(self._root)
            found += [(below / name).as_posix() for name in files if _may_hold_tests(name)]
            if len(found) > _MAX_FILES:
                raise UsageError(
                    f"over {_MAX_FILES} Python files; give the tests' own folder", Place(str(self._root))
                )
        return sorted(found)

    def paths(self) -> Sequence[str]:
        """Every file that may hold tests, sorted."""
        return self._paths

    def has_folder(self, path: str) -> bool:
        """Whether there is such a folder below the root."""
        return _is_below(path) and os.path.isdir(self._root / path)  # noqa: PTH112  no name is too long for it

    def file(self, path: str) -> TestFile | None:
        """The tests of a file; None when there is none of this path below the root."""
        if path not in self._files:
            self._files[path] = self._read(path) if path.endswith(".py") and _is_below(path) else None
        return self._files[path]

    def _read(self, path: str) -> TestFile | None:
        file = self._root / path
        if not is_file(file):
            return None
        return collect(self._modules, self._modules.at(file, self._root), list(self._conftests(file)))

    def _conftests(self, file: Path) -> Sequence[Module]:
        folders = [folder for folder in file.parents if folder.is_relative_to(self._root)]
        found = [folder / "conftest.py" for folder in folders]
        return [self._modules.at(path, self._root) for path in found if is_file(path)]

    def holders(self, name: str) -> Sequence[str]:
        """The files in whose text a function or class of this name is defined, sorted."""
        if name not in self._holders:
            self._holders[name] = self._search(name)
        return self._holders[name]

    def _search(self, name: str) -> Sequence[str]:
        words = [f"{keyword} {name}".encode("utf-8", "replace") for keyword in ("def", "class")]
        found, read = [], 0
        for path in self._paths:
            try:
                data = (self._root / path).read_bytes()
            except OSError:
                continue  # a file that cannot be read holds no suggestion
            read += len(data)
            if read > _MAX_SEARCHED_BYTES:
                break
            if any(word in data for word in words):
                found.append(path)
        return found


def _may_hold_tests(name: str) -> bool:
    return name.endswith(".py") and name not in ("conftest.py", "__init__.py", "setup.py")


def _is_below(path: str) -> bool:
    """Whether a path of a list stays below the root: no list may look at files elsewhere."""
    return "\0" not in path and not PurePosixPath(path).is_absolute() and ".." not in path.split("/")
