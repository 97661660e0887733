"""What a module says without being run: the names it defines, and those it only passes on from another.

Reading a hundred files takes longer than importing the workers, so a fetched engine keeps what was read beside it:
also what a step imports, long after the engine was loaded, which each case's process would read anew.
"""

from __future__ import annotations

import ast
import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.files import write_atomically
from harness.targets.common.imports import defined_names

__all__ = ["Names", "NamesRead"]


@dataclass(frozen=True)
class Names:
    """`defined` is None where the names cannot be known by reading; `passed_on`: name -> (module, name there)."""

    defined: frozenset[str] | None
    passed_on: dict[str, tuple[str, str]]


class NamesRead:
    """Reads modules' names, keeping them in `file` where there is one. Files of a fetched engine do not change.

    What is read before the first `keep` is kept by it, in one go; what is read later, at once.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, list[object]] = {}
        self._new = self._loaded = False
        self._take()

    def read(self, file: Path, module: str) -> Names:
        """Return the names of `module` in `file`."""
        if module not in self._known and self._loaded:
            self._take()  # another case's process may have read it since
        if module not in self._known:
            defined = None if file.name == "__init__.py" else defined_names(file)
            self._known[module] = [None if defined is None else sorted(defined), _passed_on(file, module)]
            self._new = True
            if self._loaded:
                self.keep()
        defined_here, passed_on = self._known[module]
        return Names(
            None if defined_here is None else frozenset(defined_here),  # type: ignore[call-overload]  # a list of names
            {name: (source[0], source[1]) for name, source in passed_on.items()},  # type: ignore[attr-defined]  # a dict
        )

    def keep(self) -> None:
        """Write what was read, in one step, for the next process."""
        if self._file is not None and self._new:
            with contextlib.suppress(UsageError):  # a cache that cannot be written costs time and nothing else
                write_atomically(self._file, json.dumps(self._known))
        self._new, self._loaded = False, True

    def _take(self) -> None:
        if self._file is not None and self._file.is_file():
            self._known |= json.loads(self._file.read_text(encoding="utf-8"))


def _passed_on(file: Path, module: str) -> dict[str, tuple[str, str]]:
    package = module.split(".")[: None if file.name == "__init__.py" else -1]
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8"), str(file)).body:
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            found |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
    return found
