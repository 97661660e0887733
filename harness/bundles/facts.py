"""What a bundle says of the machine it comes from: chosen variables, versions, GPUs."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import harness
from harness.bundles.launched import Launched
from harness.devices import detect_inventory
from harness.protocol import Description
from harness.revision import revision_of

__all__ = ["COMPUTING", "environment", "gpus", "harness_commit", "version_of", "versions"]

# Variables that change what is computed: a replay gets them again.
COMPUTING = (
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "PYTHONHASHSEED", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "TRITON_INTERPRET",
)  # fmt: skip
# Variables that say which machine it was. Everything else stays out: what nobody chose may be a secret.
_OF_THE_MACHINE = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "LANG", "LC_ALL", "TZ")


def environment() -> dict[str, str]:
    """Return the chosen variables that are set."""
    return {name: os.environ[name] for name in sorted((*COMPUTING, *_OF_THE_MACHINE)) if name in os.environ}


def versions(description: Description | None, launched: Launched, found: str) -> dict[str, Any]:
    """Return versions of Python, torch, harness and target, and which of the target's code stands in.

    torch is this interpreter's; a fetched engine has one of its own. `found` is the folder of the source.
    """
    told: dict[str, Any] = {"name": launched.target, "source": launched.source, "folder": found}
    if description is not None:
        told |= {"version": description.version, "own": description.own, "stand_ins": description.stand_ins}
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": version_of("torch"),
        "harness": harness.__version__,
        "harness_commit": harness_commit(),
        "target": told,
    }


def harness_commit() -> str:
    """Return the commit of the harness, "" where it does not run out of a checkout."""
    return revision_of(Path(harness.__file__).parent)


def version_of(distribution: str) -> str | None:
    """Return the version of what is installed for this interpreter, None for what is not."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def gpus(used: str) -> dict[str, Any]:
    """Return the device that a case was run on, by the name its host gave it, and what GPUs there are."""
    inventory = detect_inventory()
    return {
        "used": used,
        "gpus": [{**vars(gpu), "free": inventory.free_bytes(gpu.uuid)} for gpu in inventory.devices()],
    }
