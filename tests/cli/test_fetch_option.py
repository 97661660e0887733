"""`--fetch`: what is named and not here is fetched before anything runs; what cannot be meant is said first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import harness.fetching
from harness.cli.explore import explore
from harness.cli.matrix import matrix
from harness.cli.minimise import minimise
from harness.cli.replay import replay
from harness.cli.repro import repro
from harness.cli.targets import targets
from harness.errors import LaunchError, UsageError
from harness.fetching import Release

EXAMPLE = str(Path(__file__).parents[2] / "docs/examples/dummy_beside_a_request.yml")
COMMANDS = {
    "repro": (repro, ("6451032",)),
    "matrix": (matrix, ()),
    "replay": (replay, (EXAMPLE,)),
    "explore": (explore, ()),
    "minimise": (minimise, (EXAMPLE, "--out", "none.yml")),
    "targets": (targets, ()),
}


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is to be fetched into a cache that is empty; the index has no version that begins with 8."""
    asked: list[str] = []

    def fetch(release: Release, say: Callable[[str], None]) -> None:
        asked.append(str(release))
        say(f"{release}: its size")
        if release.version.startswith("8"):
            raise LaunchError("no such version")

    monkeypatch.setattr(harness.fetching, "fetch", fetch)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    return asked


def run(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_launches_fetches_a_version_and_says_so_beside_its_output(
    name: str, wanted: list[str]
) -> None:
    command, words = COMMANDS[name]
    result = run(command, *words, "--target", "vllm", "--source", "8.0", "--fetch")
    assert wanted == ["vllm==8.0"]
    assert (result.stdout, result.stderr) == ("", "vllm==8.0: its size\n")
    assert str(result.exception) == "no such version"


@pytest.mark.parametrize("name", COMMANDS)
def test_without_it_nothing_is_fetched_and_both_ways_to_do_it_are_named(name: str, wanted: list[str]) -> None:
    command, words = COMMANDS[name]
    result = run(command, *words, "--target", "vllm", "--source", "8.0")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (
        "--source 8.0: neither a folder nor a fetched version: "
        "harness targets fetch vllm==8.0, or say --fetch, too"
    )
    assert wanted == []


def test_each_of_several_versions_is_fetched_before_any_of_them_runs(wanted: list[str]) -> None:
    result = run(matrix, "--target", "sglang", "--source", "1.0,8.0,2.0", "--fetch")
    assert wanted == ["sglang==1.0", "sglang==8.0"]
    assert isinstance(result.exception, LaunchError)


def test_beside_a_version_a_folder_is_launched_where_it_is(wanted: list[str], tmp_path: Path) -> None:
    run(repro, "6451032", "--target", "vllm", "--source", str(tmp_path), "--against", "1.0?x=y", "--fetch")
    assert wanted == ["vllm==1.0"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("embedded", "--fetch: target embedded has no releases to fetch; there are those of sglang, vllm"),
        ("tensorrt_llm --source 1.0", "--fetch: target tensorrt_llm has no releases to fetch"),
        ("none", "--target none: unknown"),
        ("vllm --source 1.0 --device tpu", "--device tpu: expected cpu"),
        ("vllm", "--fetch: no version is named; say --source VERSION"),
        ("vllm --source .", "--fetch: --source . names no version; say --source VERSION"),
        ("vllm --source ./1.0", "--fetch: --source ./1.0 names no version"),
        ("vllm --source installed", "--fetch: --source installed names no version"),
        ("vllm --source 1.0,main", "--fetch: --source main: neither a folder nor a version such as 1.2.3"),
        ("vllm --source 1.0,2.0 --fault all", "--source 1.0,2.0: planted faults are judged on one version"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line_before_anything_is_fetched(
    words: str, told: str, wanted: list[str]
) -> None:
    result = run(matrix, "--fetch", "--target", *words.split())
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(told)
    assert wanted == []
