"""The arrows between packages, kept: who may import whom, and who may import torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOUNDATION = {"errors", "files", "scenario", "legality", "codec", "trace", "protocol"}
REPRODUCING = FOUNDATION | {"orders", "invariants", "hosts", "launch", "verdicts", "references"}

# package or module -> what it may import of harness beside itself. FOUNDATION is open to all.
ARROWS: dict[str, set[str]] = {
    # the foundation, in its own order
    "errors": set(),
    "files": {"errors"},
    "scenario": set(),
    "legality": {"errors", "scenario"},
    "codec": {"scenario"},
    "trace": {"scenario"},
    "protocol": {"scenario", "trace"},
    "scenario_file": FOUNDATION,
    "orders": FOUNDATION,
    # the child: host -> targets -> faults -> engine
    "engine": {"scenario", "trace"},
    "faults": FOUNDATION | {"engine"},
    "targets": FOUNDATION | {"faults", "engine"},
    "host": FOUNDATION | {"targets"},
    # the parent
    "fetching": FOUNDATION | {"targets"},  # targets: where the cache is, no torch
    "invariants": FOUNDATION,
    "hosts": FOUNDATION | {"host"},  # only for --isolation none, inside a function
    "launch": FOUNDATION | {"hosts"},
    "verdicts": FOUNDATION,
    "references": FOUNDATION,
    "oracles": FOUNDATION | {"invariants", "launch"},
    "reproduce": REPRODUCING,
    "catalogue": REPRODUCING | {"reproduce"},
    "explore": REPRODUCING | {"reproduce", "oracles", "catalogue", "scenario_file"},
    "report": FOUNDATION | {"orders", "verdicts"},
    "pictures": REPRODUCING | {"report"},
    "bundles": REPRODUCING | {"report", "pictures", "scenario_file", "devices", "revision"},
    "revision": set(),
    "llm_config": REPRODUCING | {"reproduce", "lists"},  # lists: its reader of YAML with places
    "bisect": REPRODUCING | {"reproduce", "targets"},  # targets: where sources are found, no torch
    "lists": {"errors", "files"},
    "devices": {"errors"},
    "results": {"errors", "files", "codec"},
}
# What stands on top may import everything below it, but not each other.
TOP = {"cli", "pytest_plugin", "__main__", "__init__"}
WITH_TORCH = {"engine", "faults", "targets", "host"}


def modules() -> list[Path]:
    return sorted((ROOT / "harness").rglob("*.py"))


def package_of(path: Path) -> str:
    first = path.relative_to(ROOT / "harness").parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the full names of all modules that a file imports, in functions and for typing too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_arrows_allow(path: Path) -> None:
    package = package_of(path)
    inside = {name.split(".")[1] for name in imported(path) if name.startswith("harness.")}
    allowed = set(ARROWS) if package in TOP else ARROWS[package]
    assert inside <= allowed | {package} | ({"cli"} if package == "__main__" else set())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_child_imports_torch(path: Path) -> None:
    uses_torch = any(name.split(".")[0] == "torch" for name in imported(path))
    assert not uses_torch or package_of(path) in WITH_TORCH


def test_only_reports_use_the_template_engine_and_import_it_where_a_page_is_written() -> None:
    for path in modules():
        engine = {name for name in imported(path) if name.split(".")[0] in ("jinja2", "markupsafe")}
        assert not engine or package_of(path) == "report", path
        body = ast.parse(path.read_text()).body
        loaded = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert "jinja2" not in {getattr(node, "module", "") for node in loaded}, path


@pytest.mark.parametrize("path", sorted((ROOT / "repro_cases").glob("*.py")), ids=lambda path: path.name)
def test_a_reproducer_knows_scenarios_and_nothing_of_any_engine(path: Path) -> None:
    inside = {name.split(".")[1] for name in imported(path) if name.startswith("harness.")}
    assert inside <= {"scenario", "orders", "references", "reproduce", "verdicts", "catalogue", "trace"}


def test_the_parent_really_runs_without_torch() -> None:
    names = (
        "cli.repro",
        "cli.lists",
        "cli.waives",
        "cli.targets",
        "cli.bisect",
        "pytest_plugin",
        "report",
        "catalogue",
    )
    program = "import sys\n" + "".join(f"import harness.{name}\n" for name in names)
    program += "for entry in harness.catalogue.load_catalogue(): harness.catalogue.load_reproducer(entry)\n"
    subprocess.run([sys.executable, "-c", program + "assert 'torch' not in sys.modules"], check=True)


def test_list_commands_import_nothing_that_launches() -> None:
    program = (
        "import sys\nimport harness.cli.lists, harness.cli.waives\n"
        "heavy = {'torch', 'rich', 'pytest', 'rapidfuzz', 'harness.launch'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in modules()}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
    assert sorted(lengths.values())[len(lengths) // 2] < 150
