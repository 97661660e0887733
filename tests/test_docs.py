"""Every command that README and docs show runs, and ends as they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What runs this test is set up already: another environment is not to be made for it, nor this one made anew.
_MAKE = "make --old-file .venv/.ready"
# This very run is part of it: show that the rule is there and would do it.
_INSTEAD = {"make test": f"{_MAKE} --dry-run test", "make repro": f"{_MAKE} repro"}
_CONFIG = "harness repro 6535874 --config docs/examples/llm_api.yml"
# What takes half a minute or more is run as it is shown by the slow tests, and by the others in part.
_IN_PART = {
    "make repro": f"{_MAKE} --dry-run repro",
    "harness repro 6535874": "{} --orders 5,4,2,1 --worker dflash",
    "harness repro 6535874 --fault capacity-from-bucket": "{} --orders 5,4,2,1 --worker dspark",
    _CONFIG: "{} --orders sample:1",
    f"{_CONFIG} --fault capacity-from-bucket": "{} --orders sample:1",
    "pytest repro_cases --test-list test_lists/test-db/l0_cpu.yml --context l0_cpu --match stage=post_merge "
    "--waives-file test_lists/waives.txt": "{} -k '19320 and dflash'",
    "pytest --collect-only -q > ids.txt": "pytest --collect-only -q repro_cases > ids.txt",
}


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
                lines = tuple(filter(None, output))
                before = found.get(command)
                # Two pages may show the same command: it runs once, and what either shows is looked for.
                found[command] = (
                    replace(before, output=before.output + lines)
                    if before
                    else Shown(page.name, command, code, lines)
                )
                assert found[command].code == code, f"{page.name}: {command}: another page says otherwise"
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


def default_or_slow() -> list[Any]:
    """The faults that the page of invariants breaks an engine with break it in other default tests, too."""
    return [
        pytest.param(shown, marks=[pytest.mark.slow] if shown.page == "invariants.md" else [])
        for shown in shown_commands()
    ]


@pytest.mark.parametrize("shown", default_or_slow(), ids=lambda shown: f"{shown.page}: {shown.command[:50]}")
def test_a_shown_command_runs_ends_and_prints_as_shown(checkout: Path, shown: Shown) -> None:
    part = _IN_PART.get(shown.command, "{}").format(shown.command)
    check(checkout, part, shown.code, shown.output if part == shown.command else ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "shown",
    [shown for shown in shown_commands() if shown.command in _IN_PART],
    ids=lambda shown: shown.command[:50],
)
def test_what_takes_long_runs_ends_and_prints_as_shown(checkout: Path, shown: Shown) -> None:
    check(checkout, shown.command, shown.code, shown.output)


def test_what_is_run_in_part_is_shown() -> None:
    assert set(_IN_PART) | set(_INSTEAD) <= {shown.command for shown in shown_commands()}


def check(checkout: Path, command: str, code: int, output: tuple[str, ...]) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(checkout)}
    environment.pop("MAKEFLAGS", None)
    done = subprocess.run(
        ["bash", "-c", _INSTEAD.get(command, command)],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=on_one_core,
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    printed = (done.stdout + done.stderr).splitlines()
    assert [line for line in output if line not in printed] == []


def on_one_core() -> None:
    """Leave a command one core: it would start a host on each, and a host costs more than the few cases shown."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        os.sched_setaffinity(0, {cores[worker % len(cores)]})


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page != "index.md" and f"]({page}" not in index] == []


def test_every_package_is_in_the_architecture() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    modules = {path.stem for path in (ROOT / "harness").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {name for name in modules if not name.startswith("__") and name not in named} == set()
