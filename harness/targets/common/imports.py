"""What a tree's source says without running it: which modules import what, which names a module defines.

Reading is enough to decide what the finder may make up: an import that its author guarded is a question
("is it there?"), and a stand-in must not answer it with yes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Import", "constant", "defined_names", "imports_of", "module_file"]

_MISSING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "OSError")


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name, and whether its absence is provided for."""

    module: str
    guarded: bool


def module_file(tree: Path, name: str) -> Path | None:
    """Return the file of module `name` under `tree`, None where there is none."""
    base = tree.joinpath(*name.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def imports_of(file: Path, module: str) -> Iterator[Import]:
    """Yield what `module` in `file` imports, at its top and inside its functions. Raises `SyntaxError`."""
    package = module.split(".")[: -1 if file.name != "__init__.py" else None]
    yield from _imports(ast.parse(file.read_text(encoding="utf-8"), str(file)), package, guarded=False)


def _imports(node: ast.AST, package: list[str], *, guarded: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, guarded) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from _from(child, package, guarded=guarded)
        elif isinstance(child, ast.Try):
            caught = guarded or any(_catches_missing(handler) for handler in child.handlers)
            for part in child.body:
                yield from _imports(ast.Module([part], []), package, guarded=caught)
            rest: list[Any] = [*child.handlers, *child.orelse, *child.finalbody]
            yield from _imports(ast.Module(rest, []), package, guarded=guarded)
        elif not _only_for_types(child):
            yield from _imports(child, package, guarded=guarded)


def _from(node: ast.ImportFrom, package: list[str], *, guarded: bool) -> Iterator[Import]:
    base = package[: len(package) - node.level + 1] if node.level else []
    name = ".".join([*base, *([node.module] if node.module else [])])
    yield Import(name, guarded)
    # `from package import module` names a module too, where there is such a file.
    yield from (Import(f"{name}.{alias.name}", guarded) for alias in node.names)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _catches_missing(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(name, ast.Name) and name.id in _MISSING for name in ast.walk(handler.type))


def defined_names(file: Path) -> frozenset[str] | None:
    """Return the names at the top of `file`; None where they cannot be known by reading."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except (SyntaxError, ValueError):
        return None
    names: set[str] = set()
    for node in (inner for statement in body for inner in _top_level(statement)):
        if isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return None if "__getattr__" in names else frozenset(names)


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _top_level(child)


def constant(file: Path | None, name: str, default: Any) -> Any:
    """Return the constant `name` as `file` computes it from literals, `default` where it does not."""
    if file is None:
        return default
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except (SyntaxError, ValueError):
        return default
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = _integer(getattr(node, "value", None))
            return default if value is None else value
    return default


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}  # fmt: skip


def _integer(node: ast.AST | None) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _integer(node.left), _integer(node.right)
    compute = _OPERATIONS.get(type(node.op))
    if left is None or right is None or compute is None:
        return None
    shifts = isinstance(node.op, (ast.LShift, ast.Pow))
    return None if shifts and not 0 <= right <= 128 else compute(left, right)
