"""TensorRT-LLM as a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.errors import LaunchError
from harness.protocol import Description
from harness.scenario import Config
from harness.targets.base import OpenOptions, UnsupportedError, refuse_options
from harness.targets.sources import read_stamp, resolve_source
from harness.targets.tensorrt_llm.device import Device
from harness.targets.tensorrt_llm.engine import Engine
from harness.targets.tensorrt_llm.loader import Tree, load_tree
from harness.targets.tensorrt_llm.parts import build
from harness.targets.tensorrt_llm.session import OPERATIONS, TensorRTLLMSession
from harness.targets.tensorrt_llm.variant import Variant, split_source

__all__ = ["TensorRTLLMTarget"]

_STAND_INS = (
    "draft model", "target logits and captured states", "attention metadata", "KV cache managers", "engine loop"
)  # fmt: skip


class TensorRTLLMTarget:
    """Workers, metadata, slot pools and acceptance are a tree's own; what surrounds them is a stand-in."""

    def describe(self) -> Description:
        """Say what the target can do with any tree."""
        return Description(
            name="tensorrt_llm",
            version="of the tree given with --source",
            devices=("cpu", "cuda"),
            workers=("dflash", "dspark"),
            operations=tuple(operation.name for operation in OPERATIONS),
            faults={},
            dummy="a row behind the pool, as the worker's own attribute says; slot 0 in trees before #16548",
            releases="when a batch without the request is prepared",
            keeps_absent=False,
            own=("workers", "slot pools", "metadata and its copies", "acceptance and sampling"),
            stand_ins=_STAND_INS,
        )

    def describe_source(self, source: str) -> Description:
        """Say which modules of the tree in `source` are its own and which are stand-ins. Raises `LaunchError`."""
        folder, variant = _folder(source)
        device = Device("cpu")
        with device.importing():
            tree = load_tree(folder)
        with device.computing():
            families = [_family(tree, worker, variant) for worker in ("dflash", "dspark")]
        made_up = {module for module, _ in tree.ledger.empty | tree.ledger.given} - tree.unbuilt.keys()
        unbuilt = [f"{name} (needs a build: {reason})" for name, reason in tree.unbuilt.items()]
        return replace(
            self.describe(),
            version=f"{read_stamp(folder)}; {', '.join(families)}",
            own=tree.own,
            stand_ins=(*_STAND_INS, *sorted(made_up), *sorted(unbuilt)),
        )

    def preload(self, source: str) -> None:
        """Import the tree in the process that forks for each case."""
        with Device("cpu").importing():
            load_tree(_folder(source)[0])

    def open(self, config: Config, options: OpenOptions) -> TensorRTLLMSession:
        """Open a worker. Raises `LaunchError` where the tree has none that can be driven."""
        refuse_options(config, self.describe())
        folder, variant = _folder(options.source)
        device = Device(options.device)
        with device.importing():
            tree = load_tree(folder)
        with device.computing():
            parts = build(tree, config, variant, device.name)
        tree.logger.said.clear()
        return TensorRTLLMSession(Engine(tree, parts, config, device, options.capture))


def _folder(source: str) -> tuple[Path, Variant]:
    place, variant = split_source(source)
    if not place:
        raise LaunchError("target tensorrt_llm needs --source: a checkout, or a folder with tensorrt_llm/ in it")
    folder = Path(resolve_source("tensorrt_llm", place))
    if not (folder / "tensorrt_llm").is_dir():
        raise LaunchError(f"{place}: no folder tensorrt_llm/ there")
    return folder, variant


def _family(tree: Tree, worker: str, variant: Variant) -> str:
    config = Config(worker, num_seq_slots=2, max_num_requests=2, buckets=())
    try:
        return build(tree, config, variant, "cpu").shape.family
    except UnsupportedError as reason:
        return f"no {worker} in this form: {reason}"
