"""What a module says without being run: the names it defines, and those it only passes on from another.

Reading a hundred files takes longer than importing the workers, so a fetched engine keeps what was read beside it.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from harness.targets.common.imports import defined_names

__all__ = ["Names", "NamesRead"]


@dataclass(frozen=True)
class Names:
    """`defined` is None where the names cannot be known by reading; `passed_on`: name -> (module, name there)."""

    defined: frozenset[str] | None
    passed_on: dict[str, tuple[str, str]]


class NamesRead:
    """Reads modules' names, keeping them in `file` where there is one. Files of a fetched engine do not change."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, list[object]] = {}
        self._new = False
        if file is not None and file.is_file():
            self._known = json.loads(file.read_text(encoding="utf-8"))

    def read(self, file: Path, module: str) -> Names:
        """Return the names of `module` in `file`."""
        if module not in self._known:
            defined = None if file.name == "__init__.py" else defined_names(file)
            self._known[module] = [None if defined is None else sorted(defined), _passed_on(file, module)]
            self._new = True
        defined_here, passed_on = self._known[module]
        return Names(
            None if defined_here is None else frozenset(defined_here),  # type: ignore[call-overload]  # a list of names
            {name: (source[0], source[1]) for name, source in passed_on.items()},  # type: ignore[attr-defined]  # a dict
        )

    def keep(self) -> None:
        """Write what was read, in one step, for the next process."""
        if self._file is not None and self._new:
            beside = self._file.with_name(f".{self._file.name}.{id(self)}")
            beside.write_text(json.dumps(self._known), encoding="utf-8")
            beside.replace(self._file)


def _passed_on(file: Path, module: str) -> dict[str, tuple[str, str]]:
    package = module.split(".")[: None if file.name == "__init__.py" else -1]
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8"), str(file)).body:
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            found |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
    return found
