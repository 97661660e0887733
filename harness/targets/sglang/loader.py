"""Imports the workers of an unpacked SGLang, unmodified; what they do not compute with is fabricated around them.

Real are the modules under `OWN`: workers, their kernels, request and token pools, graph runner and its buffers,
batches, metadata and configuration. Every other module of the package, and every other distribution that is
absent, is a strict stand-in (see `harness.targets.common.fabricated`): it can be named, not used.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.errors import LaunchError
from harness.targets.common.fabricated import FabricatedModule, Ledger
from harness.targets.common.imports import module_file
from harness.targets.common.names import NamesRead
from harness.targets.sglang.given import ABSENT, NOT_OWN, OWN, given_names

__all__ = ["ROOTS", "Tree", "load_tree"]

_PACKAGE = "sglang"
ROOTS = {
    "dflash": "sglang.srt.speculative.dflash_worker_v2",
    "dspark": "sglang.srt.speculative.dspark_components.dspark_worker_v2",
    "sampler": "sglang.srt.speculative.dspark_components.dspark_draft_sampler",
    "markov": "sglang.srt.speculative.dspark_components.dspark_draft",
    "planner": "sglang.srt.speculative.dspark_components.dspark_planner",
    "runner": "sglang.srt.model_executor.runner.decode_cuda_graph_runner",
    "registry": "sglang.srt.model_executor.cuda_graph_buffer_registry",
    "inputs": "sglang.srt.model_executor.input_buffers",
    "graph_config": "sglang.srt.model_executor.cuda_graph_config",
    "draft_input": "sglang.srt.speculative.dflash_info_v2",
    "relay": "sglang.srt.managers.overlap_utils",
    "batch": "sglang.srt.managers.schedule_batch",
    "results": "sglang.srt.managers.utils",
    "forward": "sglang.srt.model_executor.forward_batch_info",
    "logits": "sglang.srt.layers.logits_processor",
    "pools": "sglang.srt.mem_cache.memory_pool",
    "allocator": "sglang.srt.mem_cache.allocator",
    "translator": "sglang.srt.mem_cache.kv_index_translator",
    "allocation": "sglang.srt.mem_cache.allocation",
    "context": "sglang.srt.runtime_context",
    "spec": "sglang.srt.speculative.spec_info",
    "attention": "sglang.srt.layers.attention.base_attn_backend",
    "common": "sglang.srt.speculative.draft_worker_common",
}


@dataclass(frozen=True)
class Tree:
    """A loaded engine: its modules by their short names in `ROOTS`, and where each module came from."""

    folder: Path
    modules: dict[str, Any]
    own: tuple[str, ...]
    ledger: Ledger

    def __getattr__(self, name: str) -> Any:
        try:
            return self.modules[name]
        except KeyError:
            raise AttributeError(name) from None


_loaded: dict[Path, Tree] = {}


def load_tree(folder: Path) -> Tree:
    """Load the engine whose package lies in `folder`, or return it. Raises `LaunchError`, in one line.

    A process holds one: its state is the process's.
    """
    if folder not in _loaded:
        if _loaded:
            raise LaunchError(f"{folder}: this process holds {next(iter(_loaded))} already")
        _loaded[folder] = _load(folder)
    return _loaded[folder]


def _load(folder: Path) -> Tree:
    for worker in ("dflash", "dspark"):
        if module_file(folder, ROOTS[worker]) is None:
            raise LaunchError(
                f"{folder}: no {ROOTS[worker].replace('.', '/')}.py there, so no {worker} worker to launch"
            )
    if not os.environ.get("TRITON_INTERPRET") and not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported: the kernels run on CPU tensors
    if importlib.util.find_spec("triton") is None:
        raise LaunchError("triton is not installed, so no kernel of SGLang can run: fetch it with the engine")
    fetched = (folder.parent / "env").is_dir()
    names = NamesRead(folder.parent / "names.json" if fetched else None)
    finder = _Finder(folder, names)
    sys.meta_path.insert(0, finder)
    with _bytecode(fetched), _uncompiled():
        modules = {short: _import(folder, name) for short, name in ROOTS.items()}
    names.keep()
    own = tuple(sorted(name for name, module in sys.modules.items() if _is_file_of(folder, module)))
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
    """Leave functions that ask for torch's compiler as they are: importing it alone takes ten seconds."""

    def as_it_is(model: Any = None, **_: Any) -> Any:
        return model if model is not None else as_it_is

    compiled, torch.compile = torch.compile, as_it_is  # put back below
    try:
        yield
    finally:
        torch.compile = compiled


def _is_file_of(folder: Path, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).is_relative_to(folder)


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

    def __init__(self, folder: Path, names: NamesRead) -> None:
        self.folder, self.ledger = folder, Ledger()
        self._names = names
        self._given = given_names()
        self._absent = {top for top in ABSENT if importlib.util.find_spec(top) is None}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where `fullname` comes from; None leaves it to Python, which may not find it."""
        del path, target
        top = fullname.partition(".")[0]
        if top in self._absent:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if top != _PACKAGE:
            return None
        file = module_file(self.folder, fullname)
        if file is not None and is_own(fullname):
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
                if is_own(module):
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


def is_own(name: str) -> bool:
    """Say whether a module of the engine is imported from its file."""
    return _is_below(name, OWN) and not _is_below(name, NOT_OWN)


def _is_below(name: str, prefixes: Sequence[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)
