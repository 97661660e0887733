"""Lays a small tree of TensorRT-LLM's workers, in a broken or a fixed form."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["lay_tree", "speculative"]

_TREES = Path(__file__).parent / "trees"


def speculative(folder: Path) -> Path:
    """Return the package that the workers are in."""
    return folder / "tensorrt_llm" / "_torch" / "speculative"


def lay_tree(folder: Path, dflash: str, dspark: str, form: str) -> Path:
    """Lay family `dflash` with family `dspark` under `folder`; they differ by one file between the forms."""
    package = speculative(folder)
    package.mkdir(parents=True)
    for source in ("common", f"dflash_{dflash}", f"dspark_{dspark}"):
        for file in sorted((_TREES / source).glob("*.py")):
            shutil.copy(file, package / file.name)
    shutil.copy(_TREES / "sizing" / f"{form}.py", package / "sizing.py")
    return folder
