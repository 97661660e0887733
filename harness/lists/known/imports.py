"""Following names through the files below the roots, as an import would, without one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.lists.known.scan import Definition, Import, Module, dotted, is_file, scan

__all__ = ["Modules"]

_MAX_DEPTH = 12


class Modules:
    """The scanned files, each once. Names are looked up in the file that uses them."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._scanned: dict[Path, Module] = {}
        self._names: dict[Path, dict[str, ast.expr]] = {}

    def at(self, path: Path, root: Path) -> Module:
        """The module of a file."""
        if path not in self._scanned:
            self._scanned[path] = scan(path, root)
        return self._scanned[path]

    def definition(self, module: Module, name: str, depth: int = 0) -> tuple[Module, Definition] | None:
        """The function or class that a dotted name means in a module; None when it cannot be seen."""
        found = self._found(module, name, depth)
        return None if found is None or isinstance(found[1], ast.expr) else (found[0], found[1])

    def expression(self, module: Module, node: ast.expr) -> tuple[Module, ast.expr]:
        """What an expression stands for, and in which module, when it is a name of a constant."""
        found = self._found(module, dotted(node), 0)
        if found is None or not isinstance(found[1], ast.expr):
            return module, node
        return found[0], found[1]

    def names(self, module: Module) -> dict[str, ast.expr]:
        """Every constant that a module can use by its own or an imported name."""
        if module.path not in self._names:
            found = dict(module.constants)
            for name in module.imports:
                imported = self._found(module, name, 0)
                if imported is not None and isinstance(imported[1], ast.expr):
                    found.setdefault(name, imported[1])
            self._names[module.path] = found
        return self._names[module.path]

    def stars(self, module: Module) -> Iterator[Module | None]:
        """The modules all of whose names are imported; None for one that is not below the roots."""
        return (self._target(module, star) for star in module.stars)

    def _found(self, module: Module, name: str, depth: int) -> tuple[Module, Definition | ast.expr] | None:
        first, _, rest = name.partition(".")
        if depth > _MAX_DEPTH or not first:
            return None
        if not rest and first in module.definitions:
            return module, module.definitions[first]
        if not rest and first in module.constants:
            return module, module.constants[first]
        if first in module.imports:
            return self._imported(module, module.imports[first], rest, depth)
        for star in self.stars(module) if not rest else ():
            found = self._found(star, first, depth + 1) if star else None
            if found:
                return found
        return None

    def _imported(
        self, module: Module, source: Import, rest: str, depth: int
    ) -> tuple[Module, Definition | ast.expr] | None:
        target = self._target(module, source)
        if target and source.name:
            name = f"{source.name}.{rest}" if rest else source.name
            if found := self._found(target, name, depth + 1):
                return found
        # `from package import module`, or `import module`: the rest is looked up in there
        inner = ".".join(part for part in (source.module, source.name) if part)
        target = self._target(module, Import(inner, source.level, "")) if rest else None
        return self._found(target, rest, depth + 1) if target else None

    def _target(self, module: Module, source: Import) -> Module | None:
        parts = source.module.split(".") if source.module else []
        for folder in self._folders(module, source.level):
            for path in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
                if parts and path != module.path and is_file(path):
                    return self.at(path, module.root)
            if not parts and is_file(path := folder / "__init__.py"):
                return self.at(path, module.root)
        return None

    def _folders(self, module: Module, level: int) -> Sequence[Path]:
        """Where a module may be looked for: its own package, or every folder that may be on the path."""
        folder = module.path.parent
        if level:
            return [folder, *folder.parents][level - 1 : level]
        above = [parent for parent in folder.parents if parent.is_relative_to(module.root)]
        return [folder, *above, *(root for root in self._roots if root not in above)]
