"""Loads the workers of a tree from its own files, unmodified, with what they lack fabricated around them.

The tree's own are the four roots of `_torch/speculative` and whatever of that package the workers import.
Nothing else of an unbuilt checkout is run: its package files load compiled libraries; and what the workers
import may need a build itself, and gets a stand-in then. A complete, installed package is imported as it is, with
nothing fabricated.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import LaunchError
from harness.targets.common.fabricated import FabricatedModule, Ledger
from harness.targets.common.imports import Import, defined_names, imports_of, module_file
from harness.targets.tensorrt_llm.given import Recorder, given_names
from harness.targets.tensorrt_llm.unbuilt import SiblingLoader, has_bindings

__all__ = ["ROOTS", "Tree", "load_tree"]

_PACKAGE = "tensorrt_llm"
_SPECULATIVE = "tensorrt_llm._torch.speculative"
ROOTS = ("interface", "dflash", "dspark", "utils")
_ROOT_NAMES = tuple(f"{_SPECULATIVE}.{root}" for root in ROOTS)


@dataclass
class Tree:
    """A loaded tree: its modules, the attention metadata's base class, and where each module came from.

    unbuilt  modules that the workers import and that cannot run unbuilt -> why; stand-ins took their places.
    """

    folder: Path
    interface: Any
    utils: Any
    dflash: Any
    dspark: Any
    logger: Recorder
    complete: bool
    own: tuple[str, ...]
    unbuilt: Mapping[str, str]
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def attention_metadata(self) -> type:
        """The very class that the base worker looks for among the arguments of a forward."""
        base: type = self.interface.AttentionMetadata
        return base


_loaded: dict[Path, Tree] = {}


def load_tree(folder: Path) -> Tree:
    """Load the tree under `folder`, or return it if it is loaded. Raises `LaunchError`, in one line."""
    if folder not in _loaded:
        unload()
        _loaded[folder] = _load(folder)
    return _loaded[folder]


def unload() -> None:
    """Forget every loaded tree: modules of two trees must never meet."""
    for folder in _loaded:
        sys.path[:] = [entry for entry in sys.path if entry != str(folder)]
        # A complete package may bring more than itself, such as a module beside it.
        for name in [name for name, module in sys.modules.items() if _is_file_of(folder, module)]:
            del sys.modules[name]
    _loaded.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    for name in [name for name, module in sys.modules.items() if isinstance(module, FabricatedModule)]:
        del sys.modules[name]


def _load(folder: Path) -> Tree:
    for root in ROOTS:
        if module_file(folder, f"{_SPECULATIVE}.{root}") is None:
            raise LaunchError(
                f"{folder}: no {_PACKAGE}/_torch/speculative/{root}.py there, so no DFlash or DSpark worker"
            )
    logger = Recorder()
    complete = has_bindings(folder / _PACKAGE)
    finder = None if complete else _Finder(folder, logger)
    with _quiet_imports():
        if finder is None:
            sys.path.insert(0, str(folder))
        else:
            sys.meta_path.insert(0, finder)
        modules = {root: _import(folder, root) for root in ROOTS}
    own = tuple(sorted(name for name in sys.modules if _is_file_of(folder, sys.modules[name])))
    return Tree(
        folder, **modules, logger=logger, complete=complete, own=own,
        unbuilt=finder.unbuilt if finder else {},
        ledger=finder.ledger if finder else Ledger(),
    )  # fmt: skip


@contextlib.contextmanager
def _quiet_imports() -> Iterator[None]:
    """No bytecode files in a tree that belongs to somebody."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _is_file_of(folder: Path, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).is_relative_to(folder)


def _import(folder: Path, root: str) -> ModuleType:
    try:
        return importlib.import_module(f"{_SPECULATIVE}.{root}")
    except SyntaxError as error:
        where = _short(folder, error.filename)
        raise LaunchError(f"{where}:{error.lineno}: the tree has a syntax error: {error.msg}") from error
    except Exception as error:
        raise LaunchError(f"{_innermost(folder, error)}: {type(error).__name__}: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def _short(folder: Path, file: str | None) -> str:
    path = Path(file or "?")
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def _innermost(folder: Path, error: BaseException) -> str:
    """Return file and line of the last frame that is the tree's."""
    found, frame = str(folder), error.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if Path(file).is_relative_to(folder):
            found = f"{_short(folder, file)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the tree's own modules in their files and fabricates the rest of the package."""

    def __init__(self, folder: Path, logger: Recorder) -> None:
        self.folder, self.ledger = folder, Ledger()
        self.unbuilt: dict[str, str] = {}
        self._given = given_names(folder, logger)
        self._own, imports = _closure(folder)
        needed = {item.module for item in imports if not item.guarded}
        self._optional = {item.module for item in imports if item.guarded} - needed
        self._tops = {_PACKAGE} | ({"flashinfer"} if importlib.util.find_spec("flashinfer") is None else set())

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where `fullname` comes from; None leaves it to Python, which may not find it."""
        del path, target
        if fullname.partition(".")[0] not in self._tops or fullname in self._optional:
            return None
        file = module_file(self.folder, fullname)
        if fullname in self._own and file is not None:
            sibling = None if fullname in _ROOT_NAMES else SiblingLoader(fullname, file, self._unbuilt)
            return importlib.util.spec_from_file_location(fullname, file, loader=sibling)
        above = module_file(self.folder, fullname.rpartition(".")[0])
        if above is not None and above.name != "__init__.py":
            return None  # a plain module of the tree has names, and no modules below it
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make a strict stand-in; where the tree has the module, only names that it defines are in it."""
        return self._stand_in(spec.name)

    def _stand_in(self, name: str, note: str = "") -> FabricatedModule:
        file = module_file(self.folder, name)
        defined = defined_names(file) if file is not None and file.name != "__init__.py" else None
        return FabricatedModule(name, self._given, self.ledger, defined, self._own, note)

    def _unbuilt(self, name: str, reason: str) -> FabricatedModule:
        self.unbuilt[name] = reason
        return self._stand_in(name, f", whose module cannot run unbuilt ({reason}),")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run. A version has to be there before anybody asks."""
        version = self._given.get((module.__name__, "__version__"))
        if version is not None:
            module.__dict__["__version__"] = version


def _closure(folder: Path) -> tuple[set[str], list[Import]]:
    """Return the tree's own modules, from the roots on, and everything that they import.

    `utils` is a switchboard of all speculative modes: what only it imports is not the workers' own.
    """
    own: set[str] = set()
    imports: list[Import] = []
    waiting = [f"{_SPECULATIVE}.{root}" for root in ROOTS]
    while waiting:
        name = waiting.pop()
        file = module_file(folder, name)
        if name in own or file is None:
            continue
        own.add(name)
        try:
            found = list(imports_of(file, name))
        except (SyntaxError, ValueError):
            continue  # said with its place when the module is imported
        imports += found
        if name != f"{_SPECULATIVE}.utils":
            waiting += [item.module for item in found if item.module.startswith(f"{_SPECULATIVE}.")]
    return own, imports
