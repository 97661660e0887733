"""SGLang as a target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from harness.protocol import Description, FaultOrigin
from harness.scenario import Config
from harness.targets.base import OpenOptions, refuse_options
from harness.targets.common.released import Tree, by_package, interpreted, site_of, version_of
from harness.targets.common.session import OPERATIONS, ReleasedSession
from harness.targets.sglang.assembly import build
from harness.targets.sglang.device import computing, kernels_on_cpu
from harness.targets.sglang.engine import SGLangEngine
from harness.targets.sglang.faults import FAULTS, apply_faults
from harness.targets.sglang.loader import load_tree

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
            origins={name: FaultOrigin(fault.kind, "") for name, fault in sorted(FAULTS.items())},
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
            version=version_of(tree.folder, "sglang"),
            own=(*_OWN, *by_package(tree.own)),
            stand_ins=(*_STAND_INS, *(f"value of {name}" for name in sorted(given)), *by_package(named)),
        )

    def preload(self, source: str) -> None:
        """Import the release in the process that forks for each case, none of which can use CUDA."""
        _tree(source, "cpu")

    def open(self, config: Config, options: OpenOptions) -> ReleasedSession:
        """Open a worker. Raises `LaunchError` where the release has none that can be driven."""
        refuse_options(config, self.describe())
        tree = _tree(options.source, options.device)
        with computing(options.device):
            parts = build(tree, config, options.device, options.capture)
        apply_faults(parts, options.faults)
        return ReleasedSession(
            "SGLang", SGLangEngine(parts, config, options.device), partial(computing, options.device)
        )


def _tree(source: str, device: str = "") -> Tree:
    tree = load_tree(site_of(source, "sglang"), device)
    if interpreted():
        kernels_on_cpu()
    return tree
