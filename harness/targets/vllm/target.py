"""vLLM as a target."""

from __future__ import annotations

from dataclasses import replace

from harness.protocol import Description, FaultOrigin
from harness.scenario import Config
from harness.targets.base import OpenOptions, UnsupportedError, refuse_options
from harness.targets.common.kernels import interpret_kernels
from harness.targets.common.released import Tree, by_package, site_of, version_of
from harness.targets.common.session import OPERATIONS, ReleasedSession
from harness.targets.vllm.assembly import build
from harness.targets.vllm.device import computing
from harness.targets.vllm.engine import VLLMEngine
from harness.targets.vllm.faults import FAULTS, apply_faults
from harness.targets.vllm.loader import load_tree

__all__ = ["VLLMTarget"]

_GPU = "vllm.v1.worker.gpu"
_KERNELS = tuple(
    f"{_GPU}.{name}"
    for name in ("block_table", "buffer_utils", "cp_utils", "input_batch", "sample.gumbel", "spec_decode.dflash",
                 "spec_decode.rejection_sampler")
)  # fmt: skip
_OWN = (
    "model runner, by its own constructor: requests, batches, metadata, verification, dummy runs",
    "DFlashSpeculator and DSparkSpeculator, by their own constructors", "Triton kernels of all of these",
    "request states, block tables, slot mappings, input buffers", "block pool and its null block",
    "graph managers: capture loop, dispatch, padding", "samplers",
    "scheduler, parallel, cache and compilation configuration",
)  # fmt: skip
_STAND_INS = (
    "target and draft models, and their loading", "attention backend", "scheduler loop", "prefix cache",
    "model and speculative configuration", "platform: one device whose tensors lie on the CPU",
    "streams and events", "process groups of one rank",
)  # fmt: skip


class VLLMTarget:
    """A released vLLM: everything that computes with rows is its own, the models in it are stand-ins."""

    def describe(self) -> Description:
        """Say what the target can do with any release that has both workers."""
        return Description(
            name="vllm",
            version="of the release given with --source",
            devices=("cpu",),
            workers=("dflash", "dspark"),
            operations=tuple(operation.name for operation in OPERATIONS),
            faults={name: fault.summary for name, fault in sorted(FAULTS.items())},
            origins={name: FaultOrigin(fault.kind, "") for name, fault in sorted(FAULTS.items())},
            dummy="no row: padding is request -1, slot -1 and the null block 0",
            releases="in the step after finish or abort",
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
            version=version_of(tree.folder, "vllm"),
            own=(*_OWN, *by_package(tree.own)),
            stand_ins=(*_STAND_INS, *(f"value of {name}" for name in sorted(given)), *by_package(named)),
        )

    def preload(self, source: str) -> None:
        """Import the release in the process that forks for each case."""
        _tree(source)

    def open(self, config: Config, options: OpenOptions) -> ReleasedSession:
        """Open a worker. Raises `LaunchError` where the release has none that can be driven."""
        refuse_options(config, self.describe())
        if options.device != "cpu":
            raise UnsupportedError("target vllm runs on a CPU: its stand-ins have not been run on CUDA")
        tree = _tree(options.source)
        with computing():
            parts = build(tree, config, options.device, options.capture)
        apply_faults(parts, options.faults)
        return ReleasedSession("vLLM", VLLMEngine(parts, config, options.acquired), computing)


def _tree(source: str) -> Tree:
    tree = load_tree(site_of(source, "vllm"))
    interpret_kernels(_KERNELS)
    return tree
