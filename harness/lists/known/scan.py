"""One Python file as a test collector sees it, from its syntax tree. Nothing of it is ever run."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

__all__ = ["Definition", "FunctionNode", "Import", "Module", "dotted", "is_file", "members", "scan"]

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = FunctionNode | ast.ClassDef

_MAX_BYTES = 768 * 1024  # of which the tree takes 100 MB; the largest test files there are have 300 kB
_DYNAMIC = ("exec", "globals", "setattr", "vars")


@dataclass(frozen=True, slots=True)
class Import:
    """Where an imported name comes from. `name` is "" for a module itself, `*` is never here."""

    module: str
    level: int
    name: str


@dataclass(slots=True)
class Module:
    """What stands at the top level of a file or class, every branch of an `if` or `try` included.

    `constants` are names that are assigned once and not changed there. `open` says why it may define more
    than can be seen, "" when it does not.
    """

    path: Path
    root: Path
    definitions: dict[str, Definition] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    open: str = ""


def scan(path: Path, root: Path) -> Module:
    """Parse a file below a root. What cannot be read or parsed is an open module, never an error."""
    module = Module(path, root)
    try:
        tree = _tree(path)
    except SyntaxError as error:
        module.open = f"{path.name} has a syntax error in line {error.lineno}"
    except (OSError, ValueError, RecursionError, MemoryError):
        module.open = f"{path.name} cannot be read as Python"
    else:
        _Scanner(module).block(tree.body)
    return module


def _tree(path: Path) -> ast.Module:
    with path.open("rb") as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file's own escapes are no news to who checks a list
        tree = ast.parse(data)
    _drop_bodies(tree)
    return tree


def members(node: ast.ClassDef, module: Module) -> Module:
    """The body of a class, in the form of a module."""
    found = Module(module.path, module.root)
    _Scanner(found).block(node.body)
    return found


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that is none, or too long for one, is no error."""
    return os.path.isfile(path)  # noqa: PTH113  Path.is_file raises for a name that is too long


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or attribute, "" of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _drop_bodies(node: ast.AST) -> None:
    """Forget what functions do: it is most of a tree, and no name depends on it."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, FunctionNode):
            inner.body = []
        elif isinstance(inner, (ast.stmt, ast.Module, ast.ExceptHandler)):
            waiting += ast.iter_child_nodes(inner)


class _Scanner:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.assigned: set[str] = set()

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, Definition):
            self.module.definitions[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports(node)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for body in _bodies(node):
                self.block(body)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self.assign(node)
        else:
            self.effect(node)

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.partition(".")[0]
                self.module.imports[name] = Import(alias.name if alias.asname else name, 0, "")
            elif alias.name == "*":
                self.module.stars.append(Import(node.module or "", node.level, ""))
            else:
                target = Import(node.module or "", node.level, alias.name)
                self.module.imports[alias.asname or alias.name] = target

    def assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            self.effect(node.value)
        for target in targets:
            if not isinstance(target, ast.Name):
                self.effect(target)
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    self.bind(part.id, node.value if part is target else None)

    def bind(self, name: str, value: ast.expr | None) -> None:
        self.module.constants.pop(name, None)
        if value is not None and name not in self.assigned:
            self.module.constants[name] = value
        self.assigned.add(name)

    def effect(self, node: ast.AST) -> None:
        """What may change what was defined: a call on a name, a loop, a deletion."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                if isinstance(part.func, ast.Name) and part.func.id in _DYNAMIC:
                    self.module.open = f"{self.module.path.name} defines names at run time"
                elif isinstance(part.func, ast.Attribute) and isinstance(part.func.value, ast.Name):
                    self.bind(part.func.value.id, None)
            elif isinstance(part, Definition):
                self.module.open = f"{self.module.path.name} defines names in a loop"
            elif isinstance(part, (ast.Subscript, ast.Name)) and not isinstance(part.ctx, ast.Load):
                self.bind(dotted(part.value) if isinstance(part, ast.Subscript) else part.id, None)


def _bodies(node: ast.If | ast.Try | ast.With) -> Iterator[Sequence[ast.stmt]]:
    yield node.body
    if isinstance(node, (ast.If, ast.Try)):
        yield node.orelse
    if isinstance(node, ast.Try):
        yield node.finalbody
        yield from (handler.body for handler in node.handlers)
