"""SGLang as a target."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.errors import LaunchError
from harness.protocol import Description
from harness.scenario import Config
from harness.targets.base import OpenOptions, refuse_options
from harness.targets.common.kernels import interpret_kernels
from harness.targets.sglang.assembly import build
from harness.targets.sglang.device import computing
from harness.targets.sglang.engine import Engine
from harness.targets.sglang.faults import FAULTS, apply_faults
from harness.targets.sglang.loader import Tree, load_tree
from harness.targets.sglang.session import OPERATIONS, SGLangSession

__all__ = ["SGLangTarget"]

_OWN = (
    "DFlashWorkerV2 and DSparkWorkerV2, by their own constructors", "Triton kernels of both",
    "request, token and key-value pools", "relay between steps", "decode graph runner, its buffers and padding",
    "batches and forward metadata", "configuration",
)  # fmt: skip
_STAND_INS = (
    "target and draft models", "attention backend", "model runner's dispatch", "scheduler loop", "prefix cache",
    "process groups of one rank", "torch.compile, which is not asked",
)  # fmt: skip


class SGLangTarget:
    """A released SGLang: everything that computes with rows is its own, the models around it are stand-ins."""

    def describe(self) -> Description:
        """Say what the target can do with any release that has both workers."""
        return Description(
            name="sglang",
            version="of the release given with --source",
            devices=("cpu", "cuda"),
            workers=("dflash", "dspark"),
            operations=tuple(operation.name for operation in OPERATIONS),
            faults={name: fault.summary for name, fault in sorted(FAULTS.items())},
            dummy="row 0 of the request pool and location 0, which no request is given",
            releases="at finish or abort",
            keeps_absent=True,
            own=_OWN,
            stand_ins=_STAND_INS,
        )

    def describe_source(self, source: str) -> Description:
        """Say which modules of the release in `source` are its own and which are stand-ins."""
        tree = _tree(source)
        named = [module for module, _ in tree.ledger.empty]
        given = [f"{module.rpartition('.')[2]}.{name}" for module, name in tree.ledger.given]
        return replace(
            self.describe(),
            version=_version(tree.folder),
            own=(*_OWN, *_by_package(tree.own)),
            stand_ins=(*_STAND_INS, *(f"value of {name}" for name in sorted(given)), *_by_package(named)),
        )

    def preload(self, source: str) -> None:
        """Import the release in the process that forks for each case."""
        _tree(source)

    def open(self, config: Config, options: OpenOptions) -> SGLangSession:
        """Open a worker. Raises `LaunchError` where the release has none that can be driven."""
        refuse_options(config, self.describe())
        tree = _tree(options.source)
        with computing(options.device):
            parts = build(tree, config, options.device, options.capture)
        apply_faults(parts, options.faults)
        return SGLangSession(Engine(parts, config, options.device))


def _tree(source: str) -> Tree:
    if not source:
        raise LaunchError("target sglang needs --source: a fetched version, or a folder with sglang/ in it")
    folder = Path(source)
    site = folder / "site" if (folder / "site" / "sglang").is_dir() else folder
    if not (site / "sglang").is_dir():
        raise LaunchError(f"{source}: no folder sglang/ there")
    tree = load_tree(site)
    if os.environ.get("TRITON_INTERPRET") == "1":
        interpret_kernels()
    return tree


def _by_package(modules: Iterable[str]) -> list[str]:
    """Return packages with how many of their modules are meant: there are hundreds."""
    counts = Counter(".".join(module.split(".")[:3]) for module in set(modules))
    return [f"{package} ({count})" for package, count in sorted(counts.items())]


def _version(folder: Path) -> str:
    found = sorted(folder.glob("sglang-*.dist-info"))
    return found[0].name.removeprefix("sglang-").removesuffix(".dist-info") if found else "no version known"
