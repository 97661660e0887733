"""Every command that README and docs show runs, and ends as they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
# This very run is part of it: show that the rule is there and would do it.
_INSTEAD = {"make test": "make --dry-run test"}


@dataclass(frozen=True)
class Shown:
    """A `$ ` line of a console block, the exit code it claims and the output lines below it."""

    page: str
    command: str
    code: int
    output: tuple[str, ...]


def shown_commands() -> list[Shown]:
    found: dict[str, Shown] = {}
    for page in PAGES:
        for block in _FENCE.findall(page.read_text()):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, *output = part.splitlines()
                command, _, remark = line.partition("    # ")
                code = int(remark.removeprefix("exit ")) if remark.startswith("exit ") else 0
                if remark == "needs a GPU" and not has_gpu():
                    code = 3
                found.setdefault(command, Shown(page.name, command, code, tuple(filter(None, output))))
    return list(found.values())


def has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree with its environment, for commands to write into."""
    copy = tmp_path_factory.mktemp("docs") / "checkout"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)  # one page shows a command for a clone
    if (ROOT / ".venv").is_dir():
        (copy / ".venv").symlink_to((ROOT / ".venv").resolve())
    return copy


@pytest.mark.parametrize("shown", shown_commands(), ids=lambda shown: f"{shown.page}: {shown.command[:50]}")
def test_a_shown_command_runs_ends_and_prints_as_shown(checkout: Path, shown: Shown) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(checkout)}
    environment.pop("MAKEFLAGS", None)
    done = subprocess.run(
        ["bash", "-c", _INSTEAD.get(shown.command, shown.command)],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == shown.code, done.stdout[-2000:] + done.stderr[-2000:]
    printed = (done.stdout + done.stderr).splitlines()
    assert [line for line in shown.output if line not in printed] == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
