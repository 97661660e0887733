"""A bundle shows a finding again to somebody who has nothing but it: each is replayed before it is handed out."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bundles import Launched, write_bundles
from harness.bundles.facts import gpus
from harness.bundles.replaying import Replayed, replay
from harness.bundles.texts import FILES, make_script
from harness.cli.replay import replay as replay_command
from harness.cli.repro import repro
from harness.codec import decode, dumps
from harness.devices import Device, NoDevices
from harness.launch import Launcher
from harness.protocol import Description
from harness.scenario import Admit, Config, Scenario
from harness.scenario_file import read_scenario, write_scenario
from harness.trace import Outcome, Trace, Violation
from harness.verdicts import Case, CaseResult

SIGNATURE = "I-SCRATCH:padding-on-seat:worker.batch_to_slot"
BUG = ["6451032", "--fault", "pad-to-slot-zero", "--worker", "dflash", "--regime", "exact", "--orders", "5,4,2,1",
       "--isolation", "none"]  # fmt: skip
SECRET = "hunter2-of-nobody's-business"  # noqa: S105  a decoy
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> dict[str, Any]:
    """What `harness repro --bundle` wrote and `printed` for two cases with one signature."""
    file = tmp_path_factory.mktemp("results") / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UPSTREAM_TOKEN", SECRET)
        patch.setenv("CUDA_LAUNCH_BLOCKING", "1")
        result = CliRunner().invoke(repro, [*BUG, "--json", str(file), "--bundle", str(folder)])
    assert result.exit_code == 1
    return {**json.loads(file.read_text()), "printed": result.output}


@pytest.fixture(scope="module")
def bundle(folder: Path, told: dict[str, Any]) -> Path:
    assert len(told["results"]) == 2
    (found,) = folder.iterdir()  # and nothing half-written beside it
    return found


def test_a_signature_has_one_bundle_and_its_replay_is_told(bundle: Path, told: dict[str, Any]) -> None:
    assert f"bundle {bundle}: replayed: same signature\n" in told["printed"]
    assert "padding-on-seat" in bundle.name


def test_a_bundle_says_what_was_done_found_and_seen_again(bundle: Path) -> None:
    assert {path.name for path in bundle.iterdir()} == {*FILES, "README.md"}
    readme = (bundle / "README.md").read_text()
    assert SIGNATURE in readme
    assert "replayed: same signature" in readme
    trace = decode(Trace, json.loads((bundle / "trace.json").read_text()))
    assert trace.scenario.operations == read_scenario(bundle / "scenario.yml").operations
    assert len(trace.snapshots) == len(trace.scenario.operations)
    assert trace.violations[0].signature == SIGNATURE
    story = (bundle / "story.txt").read_text()
    assert "  7  r2 comes, prompt of 4" in story
    assert "Rows of pool slots after each operation" in story
    assert "violation in operation" in (bundle / "replay.txt").read_text()
    versions = json.loads((bundle / "versions.json").read_text())
    assert versions["target"]["name"] == "embedded"
    assert versions["target"]["stand_ins"] == []
    assert versions["torch"]
    assert json.loads((bundle / "devices.json").read_text())["used"] == "cpu"


def test_chosen_variables_are_in_a_bundle_and_nothing_that_nobody_chose(bundle: Path) -> None:
    assert json.loads((bundle / "environment.json").read_text())["CUDA_LAUNCH_BLOCKING"] == "1"
    assert "export CUDA_LAUNCH_BLOCKING=1\n" in (bundle / "run.sh").read_text()
    for path in bundle.iterdir():
        assert SECRET not in path.read_text()
        assert "UPSTREAM_TOKEN" not in path.read_text()


def test_no_file_of_a_bundle_names_the_folder_that_it_was_made_in(bundle: Path, folder: Path) -> None:
    for path in bundle.iterdir():
        assert str(folder) not in path.read_text()


def test_a_bundle_that_is_there_stays_as_it_was(bundle: Path, folder: Path, told: dict[str, Any]) -> None:
    (bundle / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    results, description = decode(list[CaseResult], told["results"]), decode(Description, told["description"])
    launched = Launched(isolation="none", faults=("pad-to-slot-zero",))
    (again,) = write_bundles(folder, results, Launcher(), launched, description)
    assert (again.path, again.told) == (bundle, "was there already and is left as it was")
    assert list(folder.iterdir()) == [bundle]
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before
    (bundle / "notes.txt").unlink()


@pytest.mark.slow
def test_a_crash_that_was_replayed_from_a_file_has_a_bundle_up_to_the_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launching = Path(__file__).parents[1] / "launch"
    monkeypatch.setenv("PYTHONPATH", str(launching))
    monkeypatch.syspath_prepend(launching)
    config = Config("dflash", 2, 2, ())
    write_scenario(Scenario(config, (Admit("a", 4), Admit("segfault", 4))), tmp_path / "crash.yml")
    command = [
        str(tmp_path / "crash.yml"),
        "--target",
        "misbehaving:Misbehaving",
        "--bundle",
        str(tmp_path / "kept"),
    ]
    result = CliRunner().invoke(replay_command, command)
    assert result.exit_code == 1
    (bundle,) = (tmp_path / "kept").iterdir()
    assert f"bundle {bundle}: replayed: same signature\n" in result.output
    assert "  1  segfault comes, prompt of 4\n  !  crash: " in (bundle / "story.txt").read_text()
    trace = decode(Trace, json.loads((bundle / "trace.json").read_text()))
    assert (trace.outcome, trace.at, len(trace.snapshots)) == (Outcome.CRASH, 1, 1)


def test_a_scenario_without_operations_holds_and_leaves_nothing(tmp_path: Path) -> None:
    write_scenario(_SCENARIO, tmp_path / "empty.yml")
    command = [str(tmp_path / "empty.yml"), "--isolation", "none", "--bundle", str(tmp_path / "kept")]
    result = CliRunner().invoke(replay_command, command)
    assert (result.exit_code, list((tmp_path / "kept").iterdir())) == (0, [])


class _OneGpu(NoDevices):
    def devices(self) -> tuple[Device, ...]:
        return (Device("GPU-1", 0, "NVIDIA H100", 1 << 30),)

    def free_bytes(self, uuid: str) -> int | None:
        return {"GPU-1": 5}[uuid]


def test_the_gpus_of_a_machine_are_told_with_the_one_that_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.bundles.facts.detect_inventory", _OneGpu)
    facts = {"uuid": "GPU-1", "index": 0, "name": "NVIDIA H100", "total": 1 << 30, "parent": "", "free": 5}
    assert json.loads(json.dumps(gpus("NVIDIA H100"))) == {"used": "NVIDIA H100", "gpus": [facts]}


# --- the script


def run_script(folder: Path, script: str, *more: str) -> list[str]:
    """Run `script` out of a folder of that name, with an interpreter that only tells what it is asked to run."""
    folder.mkdir(parents=True, exist_ok=True)
    teller = folder.parent / "teller"
    teller.write_text('#!/bin/sh\npwd\nprintf "%s\\0" "$@"\n')
    teller.chmod(0o755)
    (folder / "run.sh").write_text(script)
    command = ["bash", str(folder / "run.sh"), *more]
    told = subprocess.run(
        command, cwd="/", env={**os.environ, "PYTHON": str(teller)}, capture_output=True, check=True
    ).stdout.decode()
    place, _, words = told.partition("\n")
    assert Path(place) == folder.resolve()
    return words.split("\0")[:-1]


@settings(max_examples=15, deadline=None)
@given(source=WORDS, fault=WORDS, more=WORDS, value=WORDS)
def test_a_script_says_the_same_from_any_folder_whatever_the_words_are(
    tmp_path_factory: pytest.TempPathFactory, source: str, fault: str, more: str, value: str
) -> None:
    launched = Launched("sglang", source, None, "cuda:1", "reuse", (fault, "second"))
    folder = tmp_path_factory.mktemp("moved") / "to a $(place) of 'its' own"
    words = run_script(folder, make_script(launched, {"OMP_NUM_THREADS": value}), "--html", more)
    assert words == [
        "-m", "harness", "replay", "scenario.yml", "--target", "sglang", "--device", "cuda:1",
        *launched.options()[4:6], "--isolation", "reuse", "--fault", fault, "--fault", "second", "--html", more,
    ]  # fmt: skip


def test_a_source_is_named_so_that_it_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path)
    assert Launched(source="tree?variant=x").options()[4:] == ["--source", f"{tmp_path / 'tree'}?variant=x"]
    for elsewhere in ("0.5.23", "~nobody-of-that-name/tree"):
        assert Launched(source=elsewhere).options()[4:] == ["--source", elsewhere]
    revision = Launched(source="tree", repo=Path("repo")).options()  # a branch of that name, not the folder
    assert revision[4:] == ["--source", "tree", "--repo", str(tmp_path / "repo")]


# --- the replay

_SCENARIO = Scenario(Config("dflash", 2, 2, ()), ())
_CASE = Case("dflash", "exact", "eager", (), _SCENARIO)


def _result(*signatures: str) -> CaseResult:
    found = [Violation(name, "rule", "", 0, "", "") for name in signatures]
    outcome = Outcome.VIOLATION if found else Outcome.OK
    return CaseResult("bug", _CASE, outcome, "", "", "cpu", violations=found)


def lay_replays(folder: Path, *shown: CaseResult | None) -> Path:
    """Lay a bundle whose script shows one of these after the other; None: it shows nothing and fails."""
    for index, result in enumerate(shown):
        if result is not None:
            (folder / f"{index}.json").write_text(dumps({"results": [result]}))
    (folder / "run.sh").write_text(
        'cd "$(dirname "$0")"; n=$(ls | grep -c ran-) || true; touch "ran-$n"; echo "replay $n"; cp "$n.json" "$2"'
    )
    return folder


RIGHT, WRONG, NOTHING = _result("I-A"), _result("I-B"), _result()


@pytest.mark.parametrize(
    ("shown", "seen", "tries", "words"),
    [
        ((RIGHT,), 1, 1, "replayed: same signature"),
        ((_result("I-B", "I-A"),), 1, 1, "replayed: same signature"),
        ((NOTHING, NOTHING, NOTHING), 0, 3, "replayed: did not repeat (0 of 3)"),
        ((WRONG, WRONG, WRONG), 0, 3, "replayed: did not repeat (0 of 3)"),
        ((NOTHING, RIGHT, RIGHT), 2, 3, "replayed: did not repeat (2 of 3)"),
        ((None, None, RIGHT), 1, 3, "replayed: did not repeat (1 of 3)"),
    ],
)
def test_a_finding_counts_as_replayed_where_its_signature_is_seen_at_once(
    tmp_path: Path, shown: tuple[CaseResult | None, ...], seen: int, tries: int, words: str
) -> None:
    found = replay(lay_replays(tmp_path, *shown), "I-A:rule")
    assert (found.seen, found.tries, str(found)) == (seen, tries, words)
    assert f"replay {tries - 1}\n" in found.printed


def test_a_replay_that_shows_what_is_no_result_has_not_shown_the_finding(tmp_path: Path) -> None:
    for index, text in enumerate(("", "[]", '{"results": [{"no": "result"}]}')):
        (tmp_path / f"{index}.json").write_text(text)
    assert replay(lay_replays(tmp_path), "I-A:rule") == Replayed(0, 3, "replay 2\n")


# --- where there is nothing to write, or no place


def test_what_holds_or_cannot_be_done_leaves_no_bundle_and_no_folder(tmp_path: Path) -> None:
    unsupported = CaseResult("bug", _CASE, Outcome.UNSUPPORTED, "", "not here", "cpu")
    assert write_bundles(tmp_path / "none", [NOTHING, unsupported], Launcher(), Launched()) == []
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("harness.cli.repro.run_side", lambda *_, **__: pytest.fail("it ran"))
    result = CliRunner().invoke(repro, [*BUG, "--bundle", str(tmp_path / "file")])
    assert str(result.exception) == (
        f"{tmp_path / 'file'}: no bundle can be written here: File exists; name another folder"
    )
    assert result.output == ""


def test_two_sources_have_no_bundle_in_common(tmp_path: Path) -> None:
    result = CliRunner().invoke(repro, ["6451032", "--source", "a", "--against", "b", "--bundle", str(tmp_path)])
    assert "--bundle: a bundle is of one source; write those of each, without --against" in str(result.exception)
