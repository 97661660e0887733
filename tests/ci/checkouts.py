"""Copies of this tree in which pipelines run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
# On a CPU, with a list of a few seconds.
SMALL = {
    "LIST": "tests/ci/l0_small.yml",
    "CONTEXT": "l0_small",
    "MATCH": "stage=pre_merge,backend=generic",
    "DEVICE": "cpu",
}
WHOLE = {
    "LIST": "test_lists/test-db/l0_cpu.yml",
    "CONTEXT": "l0_cpu",
    "MATCH": "stage=post_merge,backend=generic",
    "DEVICE": "cpu",
}


def lay_checkout(folder: Path) -> Path:
    """Copy this tree, with the running interpreter's environment as its `.venv`, into `folder`."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def environment(folder: Path, *more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a pipeline's commands in a checkout: nothing of this very test run."""
    ours = ("PYTEST_", "HARNESS_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name != "MAKEFLAGS"}
    changes = {name: value for variables in more for name, value in variables.items()}
    return {**kept, "PYTHONPATH": str(folder), **changes}


def bash(script: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: in bash, ended by the first command that fails."""
    # Setting up needs a network; that the rule is there is seen without it.
    command = ["bash", "-e", "-o", "pipefail", "-c", script.replace("make setup", "make --dry-run setup")]
    return subprocess.run(command, cwd=folder, env=dict(variables), capture_output=True, text=True, check=False)
