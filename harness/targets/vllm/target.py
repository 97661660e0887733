"""vLLM as a target."""

from __future__ import annotations

from harness.protocol import Description
from harness.scenario import Config
from harness.targets.base import OpenOptions, refuse_options
from harness.targets.common.description import describe_any, describe_tree
from harness.targets.common.kernels import interpret_kernels
from harness.targets.common.released import Tree, interpreted, site_of
from harness.targets.common.session import ReleasedSession, open_session
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
    "model and speculative configuration", "platform: one device, without memory that it shares with the host",
    "on a CPU: streams, events and graphs", "process groups of one rank",
)  # fmt: skip


class VLLMTarget:
    """A released vLLM: everything that computes with rows is its own, the models in it are stand-ins."""

    def describe(self) -> Description:
        """Say what the target can do with any release that has both workers."""
        return describe_any(
            "vllm",
            ("cpu", "cuda"),
            FAULTS,
            dummy="no row: padding is request -1, slot -1 and the null block 0",
            releases="in the step after finish or abort",
            own=_OWN,
            stand_ins=_STAND_INS,
        )

    def describe_source(self, source: str) -> Description:
        """Say which modules of the release in `source` are its own and which are stand-ins."""
        return describe_tree(self.describe(), _tree(source))

    def preload(self, source: str) -> None:
        """Import the release in the process that forks for each case, none of which can use CUDA."""
        _tree(source, "cpu")

    def open(self, config: Config, options: OpenOptions) -> ReleasedSession:
        """Open a worker. Raises `LaunchError` where the release has none that can be driven."""
        refuse_options(config, self.describe())
        tree = _tree(options.source, options.device)

        def make() -> VLLMEngine:
            parts = build(tree, config, options.device, options.capture)
            apply_faults(parts, options.faults)
            return VLLMEngine(parts, config, options.acquired)

        return open_session("vLLM", options.device, computing, make)


def _tree(source: str, device: str = "") -> Tree:
    tree = load_tree(site_of(source, "vllm"), device)
    if interpreted():
        interpret_kernels(_KERNELS)
    return tree
