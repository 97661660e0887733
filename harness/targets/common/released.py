"""Imports the workers of an unpacked engine, unmodified; what they do not compute with is fabricated around them.

Real are the modules that a `Package` lists as its own: workers, their kernels, pools, buffers, batches, metadata
and configuration. Every other module of the engine, and every other distribution that is absent, is a strict
stand-in (see `harness.targets.common.fabricated`): it can be named, not used.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.errors import LaunchError
from harness.targets.common.fabricated import FabricatedModule, Ledger
from harness.targets.common.imports import module_file
from harness.targets.common.names import NamesRead

__all__ = ["Package", "Tree", "by_package", "interpreted", "load_tree", "site_of", "version_of"]


@dataclass(frozen=True)
class Package:
    """What of an engine is imported, and from where.

    name     its package; title: what people call it.
    roots    short name -> module that an adapter works with; `workers` are those without which there is nothing to
             launch.
    own      prefixes of modules that are imported from their files, but for those below `not_own`.
    absent   distributions that the real modules import and no step of a worker computes with.
    given    returns (module, name) -> value, for the few names of stand-ins whose value matters.
    """

    name: str
    title: str
    roots: Mapping[str, str]
    workers: Sequence[str]
    own: Sequence[str]
    not_own: Sequence[str]
    absent: Sequence[str]
    given: Callable[[], dict[tuple[str, str], Any]]

    def is_own(self, module: str) -> bool:
        """Say whether a module of the engine is imported from its file."""
        return _is_below(module, self.own) and not _is_below(module, self.not_own)


def _is_below(name: str, prefixes: Sequence[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


@dataclass(frozen=True)
class Tree:
    """A loaded engine: its modules by their short names, and where each module came from."""

    folder: Path
    modules: dict[str, Any]
    own: tuple[str, ...]
    ledger: Ledger

    def __getattr__(self, name: str) -> Any:
        try:
            return self.modules[name]
        except KeyError:
            raise AttributeError(name) from None


def site_of(source: str, name: str) -> Path:
    """Return the folder in which package `name` lies, in a fetched release or anywhere. Raises `LaunchError`."""
    if not source:
        raise LaunchError(f"target {name} needs --source: a fetched version, or a folder with {name}/ in it")
    folder = Path(source)
    site = folder / "site" if (folder / "site" / name).is_dir() else folder
    if not (site / name).is_dir():
        raise LaunchError(f"{source}: no folder {name}/ there")
    return site


def version_of(site: Path, name: str) -> str:
    """Return the version of the package that was unpacked in `site`, as its wheel says."""
    found = sorted(site.glob(f"{name}-*.dist-info"))
    return found[0].name.removeprefix(f"{name}-").removesuffix(".dist-info") if found else "no version known"


def by_package(modules: Iterable[str]) -> list[str]:
    """Return packages with how many of their modules are meant: there are hundreds."""
    counts = Counter(".".join(module.split(".")[:3]) for module in set(modules))
    return [f"{package} ({count})" for package, count in sorted(counts.items())]


_loaded: dict[Path, Tree] = {}


def load_tree(package: Package, folder: Path, device: str = "") -> Tree:
    """Load the engine whose package lies in `folder`, or return it. Raises `LaunchError`, in one line.

    A process holds one: its state is the process's. So it is with its kernels: those that are interpreted run on
    CPU tensors, on a machine with a GPU too, and compiled ones do not. "" is any device that there is.
    """
    if folder not in _loaded:
        if _loaded:
            raise LaunchError(f"{folder}: this process holds {next(iter(_loaded))} already")
        _loaded[folder] = _load(package, folder, device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device and device.startswith("cuda") == interpreted():
        raise LaunchError(f"{folder}: this process holds its kernels for another device than {device}")
    return _loaded[folder]


def interpreted() -> bool:
    """Say whether Triton's kernels are interpreted in this process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _load(package: Package, folder: Path, device: str) -> Tree:
    for worker in package.workers:
        if module_file(folder, package.roots[worker]) is None:
            missing = package.roots[worker].replace(".", "/")
            raise LaunchError(f"{folder}: no {missing}.py there, so no {worker} worker to launch")
    if not device.startswith("cuda"):
        os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
    if importlib.util.find_spec("triton") is None:
        raise LaunchError(
            f"triton is not installed, so no kernel of {package.title} can run: fetch it with the engine"
        )
    fetched = (folder.parent / "env").is_dir()
    names = NamesRead(folder.parent / "names.json" if fetched else None)
    finder = _Finder(package, folder, names)
    sys.meta_path.insert(0, finder)
    with _bytecode(fetched), _uncompiled():
        modules = {short: _import(folder, name) for short, name in package.roots.items()}
    names.keep()
    own = tuple(sorted(name for name, module in sys.modules.items() if _is_file_of(package, folder, module)))
    return Tree(folder, modules, own, finder.ledger)


@contextlib.contextmanager
def _bytecode(written: bool) -> Iterator[None]:
    """Write bytecode beside a fetched engine, whose folder is the harness's own; into nobody else's."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, not written
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextlib.contextmanager
def _uncompiled() -> Iterator[None]:
    """Leave functions that ask for torch's compiler as they are: importing it alone takes ten seconds.

    And those that ask for inference mode get no gradients instead: probes write into tensors that were made there.
    """

    def as_it_is(model: Any = None, **_: Any) -> Any:
        return model if model is not None else as_it_is

    compiled, torch.compile = torch.compile, as_it_is  # put back below
    inference, torch.inference_mode = torch.inference_mode, torch.no_grad  # type: ignore[assignment, misc]  # put back below
    try:
        yield
    finally:
        torch.compile = compiled
        torch.inference_mode = inference  # type: ignore[misc]


def _is_file_of(package: Package, folder: Path, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).is_relative_to(folder / package.name)


def _import(folder: Path, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        told = (str(error).splitlines() or [""])[0]
        raise LaunchError(f"{_innermost(folder, error)}: {type(error).__name__}: {told}") from error


def _innermost(folder: Path, error: BaseException) -> str:
    """Return file and line of the last frame that is the engine's."""
    found, frame = str(folder), error.__traceback__
    while frame is not None:
        file = Path(frame.tb_frame.f_code.co_filename)
        if file.is_relative_to(folder):
            found = f"{file.relative_to(folder)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the engine's own modules in their files and fabricates the rest of it."""

    def __init__(self, package: Package, folder: Path, names: NamesRead) -> None:
        self.folder, self.ledger = folder, Ledger()
        self._package, self._names = package, names
        self._given = package.given()
        self._absent = {top for top in package.absent if importlib.util.find_spec(top) is None}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where `fullname` comes from; None leaves it to Python, which may not find it."""
        del path, target
        top = fullname.partition(".")[0]
        if top in self._absent:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if top != self._package.name:
            return None
        file = module_file(self.folder, fullname)
        if file is not None and self._package.is_own(fullname):
            package = [str(file.parent)] if file.name == "__init__.py" else None
            return importlib.util.spec_from_file_location(fullname, file, submodule_search_locations=package)
        if file is None and not self.folder.joinpath(*fullname.split(".")).is_dir():
            return None  # the engine has no such module: whoever asks has to live without
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make a strict stand-in. Names of the engine's own that its module only passes on are the real ones."""
        file = module_file(self.folder, spec.name)
        given = dict(self._given)
        defined = None
        if file is not None:
            names = self._names.read(file, spec.name)
            defined = names.defined
            for name, (module, original) in names.passed_on.items():
                if self._package.is_own(module):
                    given.setdefault((spec.name, name), _Real(module, original))
        return _StandIn(spec.name, given, self.ledger, defined)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


@dataclass(frozen=True)
class _Real:
    """A name of another, real module."""

    module: str
    name: str

    def get(self) -> Any:
        return getattr(importlib.import_module(self.module), self.name)


class _StandIn(FabricatedModule):
    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if isinstance(value, _Real):
            value = value.get()
            setattr(self, name, value)
        return value
