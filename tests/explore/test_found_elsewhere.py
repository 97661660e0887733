"""A scenario found on the embedded engine replays on a TensorRT-LLM tree where its operations exist."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.explore import explore
from harness.cli.replay import replay

TREES = Path(__file__).parents[1] / "targets"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shortest scenario of the first finding in an engine whose pools are sized from a bucket."""
    out = tmp_path_factory.mktemp("found")
    fault = ("--fault", "capacity-from-bucket", "--worker", "dflash", "--isolation", "none")
    result = CliRunner().invoke(explore, [*fault, "--first", "--length", "10", "--out", str(out)])
    assert result.exit_code == 1, result.output
    (file,) = out.glob("I-CAP*/scenario.yml")
    return file


def replayed(file: Path, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.syspath_prepend(TREES)
    tree = importlib.import_module("laying").lay_tree(folder, "e", "d", form)
    where = ("--target", "tensorrt_llm", "--source", str(tree))  # in a process that keeps nothing of the tree
    return CliRunner().invoke(replay, [str(file), *where])


def test_it_breaks_the_same_invariant_in_a_broken_tree(
    found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replayed(found, "broken", tmp_path, monkeypatch)
    assert result.exit_code == 1
    assert result.output.startswith("I-CAP: pool slots offers ")


def test_it_holds_in_a_fixed_tree(found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = replayed(found, "fixed", tmp_path, monkeypatch)
    assert (result.exit_code, result.output) == (0, f"{found}: ok\n")
