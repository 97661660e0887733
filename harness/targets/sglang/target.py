"""SGLang as a target."""

from __future__ import annotations

from harness.protocol import Description
from harness.scenario import Config
from harness.targets.base import OpenOptions, refuse_options
from harness.targets.common.description import describe_any, describe_tree
from harness.targets.common.released import Tree, interpreted, site_of
from harness.targets.common.session import ReleasedSession, open_session
from harness.targets.sglang.assembly import build
from harness.targets.sglang.device import computing, kernels_on_cpu
from harness.targets.sglang.engine import SGLangEngine
from harness.targets.sglang.faults import FAULTS, apply_faults
from harness.targets.sglang.loader import load_tree

__all__ = ["SGLangTarget"]

_OWN = (
    "DFlashWorkerV2 and DSparkWorkerV2, by their own constructors", "Triton kernels of both",
    "request, token and key-value pools", "relay between steps", "decode graph runner, its buffers and padding",
    "batches, their merges and filters, forward metadata", "configuration",
)  # fmt: skip
_STAND_INS = (
    "target and draft models", "attention backend", "model runner's dispatch", "scheduler loop", "prefix cache",
    "process groups of one rank", "torch.compile, which is not asked",
)  # fmt: skip


class SGLangTarget:
    """A released SGLang: everything that computes with rows is its own, the models around it are stand-ins."""

    def describe(self) -> Description:
        """Say what the target can do with any release that has both workers."""
        return describe_any(
            "sglang",
            ("cpu", "cuda"),
            FAULTS,
            dummy="row 0 of the request pool and location 0, which no request is given",
            releases="at finish or abort",
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

        def make() -> SGLangEngine:
            parts = build(tree, config, options.device, options.capture)
            apply_faults(parts, options.faults)
            return SGLangEngine(parts, config, options.device)

        return open_session("SGLang", options.device, computing, make)


def _tree(source: str, device: str = "") -> Tree:
    tree = load_tree(site_of(source, "sglang"), device)
    if interpreted():
        kernels_on_cpu()
    return tree
