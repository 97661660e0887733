"""The stages of a pipeline: their names, heads, and the facts that upstream's names imply.

Rules of TensorRT-LLM's `L0_Test.groovy` of 2026, from `H100_PCIe-PyTorch-1` and
`DGX_B200-4_GPUs-PyTorch-Post-Merge-2`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from harness.errors import Place, UsageError
from harness.lists.condition import Facts
from harness.lists.facts import parse_facts
from harness.lists.matching import stage_head
from harness.lists.source import clean_lines, read_source

__all__ = ["Stage", "read_stages"]

_BACKENDS = ("PyTorch", "TensorRT", "CPP", "Triton", "FMHA", "AutoDeploy", "Verl")
_TRIGGERS = {"-DeepSeek-": "deepseek", "-GptOss-": "gpt_oss"}
_GPUS = re.compile(r"-(\d{1,6})_GPUs(?!-\d+_Nodes)(?=-|$)")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage. `facts` are what is known of it; a fact that is not there removes no block."""

    name: str
    facts: Facts

    @property
    def head(self) -> str:
        """What a waiver's `full:<head>/` must equal to reach this stage."""
        return stage_head(self.name)


def read_stages(path: str | os.PathLike[str]) -> tuple[Stage, ...]:
    """Read stage names, one a line, `#` for comments. Raises UsageError when there is none.

    Facts may follow a name and then count instead of those the name implies:
    `nightly gpu=H100,system_gpu_count=8`.
    """
    source = read_source(path)
    lines, _ = clean_lines(source)
    stages = []
    for number, line in enumerate(lines, 1):
        name, _, facts = line.partition("#")[0].strip().partition(" ")
        if not name:
            continue
        try:
            stages.append(Stage(name, parse_facts(facts) if facts.strip() else implied_facts(name)))
        except UsageError as error:
            raise UsageError(str(error), Place(source.file, number)) from error
    if not stages:
        raise UsageError("names no stage; expected one a line, e.g. H100_PCIe-PyTorch-1", Place(source.file))
    return tuple(stages)


def implied_facts(name: str) -> dict[str, str | int | float | bool]:
    """What upstream asks its lists for, from a stage name. What the name leaves open is not there."""
    facts: dict[str, str | int | float | bool] = {
        "stage": "post_merge" if "Post-Merge" in name else "pre_merge",
        "auto_trigger": next((value for part, value in _TRIGGERS.items() if part in name), "others"),
        "orchestrator": "ray" if "-Ray-" in name else "mpi",
        "gpu": stage_head(name),
    }
    if backend := next((b for b in _BACKENDS if f"-{b}-" in name), None):
        facts["backend"] = backend.lower()
    if gpus := _GPUS.search(name):
        facts["system_gpu_count"] = int(gpus[1])
    return facts
