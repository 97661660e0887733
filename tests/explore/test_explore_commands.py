"""`harness explore` and `harness minimise`: what they print, write and refuse, and how they end."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import now_and_then
import pytest
from click.testing import CliRunner, Result

from harness.cli.explore import explore
from harness.cli.minimise import minimise
from harness.cli.replay import replay
from harness.codec import decode
from harness.errors import HarnessError, LaunchError, UsageError
from harness.explore.finding import Finding
from harness.scenario import Admit, Config, Scenario, Step
from harness.scenario_file import dump_scenario, read_scenario, write_scenario

TARGET = ("--target", "now_and_then:NowAndThen", "--isolation", "none")
ENGINE = ("--fault", "handover-forgotten", "--isolation", "none")
ODD = Scenario(Config("dflash", 2, 2, ()), (Admit("a", 4), Admit("odd", 4), Step()))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    raise_in(monkeypatch, False)


def raise_in(monkeypatch: pytest.MonkeyPatch, *runs: bool) -> None:
    monkeypatch.setattr(now_and_then, "RAISES", cycle(runs).__next__)


def run(command: object, *arguments: str) -> Result:
    result = CliRunner().invoke(command, list(arguments))  # type: ignore[arg-type]  # a click command
    if isinstance(result.exception, HarnessError):
        raise result.exception
    return result


def keep(folder: str, scenario: Scenario = ODD) -> Path:
    """Put a scenario into a database, to be tried first."""
    Path(folder).mkdir(exist_ok=True)
    file = Path(folder) / "kept.yml"
    write_scenario(scenario, file)
    return file


def test_what_breaks_is_made_short_told_and_written_for_replay() -> None:
    result = run(explore, *ENGINE, "--first", "--length", "8", "--json", "found.json")
    assert result.exit_code == 1, result.output
    (finding,) = decode(list[Finding], json.loads(Path("found.json").read_text())["findings"])
    (folder,) = Path("found").iterdir()
    assert folder.name == finding.signature.replace(":", "-")
    assert read_scenario(folder / "scenario.yml") == finding.minimal
    assert read_scenario(folder / "found.yml") == finding.found
    lines = result.output.splitlines()
    assert lines[0].startswith(f"{finding.signature}: {len(finding.minimal.operations)} operation")
    assert any("is handed over" in line for line in lines)
    assert any(line.strip().startswith(f"!  {finding.violation.invariant}") for line in lines)
    told = (folder / "story.txt").read_text()
    assert all(f"  {line}" in lines for line in told.splitlines())
    command = f"harness replay {folder}/scenario.yml --fault handover-forgotten --isolation none"
    assert f"  {command}" in lines
    again = run(replay, str(folder / "scenario.yml"), *ENGINE)
    assert again.exit_code == 1
    assert finding.violation.invariant in again.output
    assert run(replay, str(folder / "scenario.yml"), "--isolation", "none").exit_code == 0
    assert lines[-1].endswith("seed 0: 1 finding")


def test_nothing_found_ends_with_zero_and_writes_nothing(tmp_path: Path) -> None:
    result = run(explore, *TARGET, "--scenarios", "12", "--length", "4")
    assert (result.exit_code, list(tmp_path.iterdir())) == (0, [])
    assert result.output.endswith("every invariant holds\n")


def test_a_finding_never_takes_the_place_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_in(monkeypatch, True)
    keep("db")
    arguments = (*TARGET, "--database", "db", "--scenarios", "1", "--length", "2")
    assert run(explore, *arguments).exit_code == 1
    (folder,) = Path("found").iterdir()
    (folder / "story.txt").write_text("my notes\n")
    assert run(explore, *arguments).exit_code == 1
    assert [(folder / "story.txt").read_text(), *Path("found").iterdir()] == ["my notes\n", folder]
    (folder / "scenario.yml").write_text("mine\n")
    assert "found/O-ENDS-error-RuntimeError-2/scenario.yml" in run(explore, *arguments).output
    assert (folder / "scenario.yml").read_text() == "mine\n"
    assert len(list(Path("found").iterdir())) == 2


def test_a_search_resumes_and_tries_first_what_broke_before(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (*TARGET, "--database", "db", "--length", "4", "--scenarios", "10")
    assert run(explore, *arguments).exit_code == 0
    (rounds,) = json.loads(Path("db/searched.json").read_text()).values()
    assert run(explore, *arguments).exit_code == 0
    assert list(json.loads(Path("db/searched.json").read_text()).values()) == [2 * rounds]
    raise_in(monkeypatch, True)
    keep("db")
    result = run(explore, *arguments, "--first")
    assert result.output.splitlines()[0] == "O-ENDS:error:RuntimeError: 1 operation of 3, scenario 1"
    assert read_scenario(Path("db/O-ENDS-error-RuntimeError.yml")).operations == (Admit("odd", 1),)


@pytest.mark.parametrize(
    "damage", ["", "{", "[1]", '{"a": "b"}', '{"a": -1}', '{"a": {"b": 1}}', "[" * 100_000, "\udcff"]
)
def test_a_damaged_database_is_told_in_a_line_a_file_and_not_trusted(damage: str) -> None:
    keep("db").write_text("config: {worker: eagle}\n")
    Path("db/searched.json").write_bytes(damage.encode("utf-8", "surrogateescape"))
    result = run(explore, *TARGET, "--database", "db", "--length", "2", "--scenarios", "1")
    assert result.exit_code == 0
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == ["db/searched.json", "db/kept.yml:1:9"]
    assert "is no record of searches; they start over" in result.stderr
    assert list(json.loads(Path("db/searched.json").read_text()).values()) == [1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*TARGET, "--worker", "dspark"), "--worker dspark: target now and then has dflash"),
        (("--fault", "none-such", "--isolation", "none"), "--fault none-such: target embedded does not know it"),
        (("--target", "no-such"), "--target no-such: unknown"),
        ((*TARGET, "--database", "taken"), "--database taken: cannot be made: File exists"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(arguments: tuple[str, ...], told: str) -> None:
    Path("taken").write_text("a file")
    with pytest.raises(UsageError) as caught:
        run(explore, *arguments)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_in(monkeypatch, True)
    keep("db")
    Path("taken").write_text("a file")
    with pytest.raises(UsageError, match="--out taken/O-ENDS-error-RuntimeError: cannot be made: Not a directory"):
        run(explore, *TARGET, "--database", "db", "--out", "taken")


def test_a_search_that_can_run_nothing_is_no_pass() -> None:
    keep("db", Scenario(Config("dflash", 0, 2, ()), (Admit("a", 4),)))
    with pytest.raises(LaunchError, match="can do none of 1 scenarios: seats must be counted"):
        run(explore, *TARGET, "--database", "db", "--seconds", "0")


def test_without_hypothesis_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LaunchError, match=r"install 'specdec-harness\[explore\]'"):
        run(explore)


def test_minimise_writes_the_shortest_scenario_beside_the_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_in(monkeypatch, True)
    write_scenario(ODD, Path("odd.yml"))
    result = run(minimise, "odd.yml", *TARGET)
    assert result.exit_code == 0
    assert read_scenario(Path("odd.minimal.yml")).operations == (Admit("odd", 1),)
    assert result.output.startswith("O-ENDS:error:RuntimeError: 1 operation of 3\n")
    assert result.output.endswith(f"harness replay odd.minimal.yml {' '.join(TARGET)}\n")
    with pytest.raises(UsageError, match=r"odd\.minimal\.yml: is there already; name another file with --out"):
        run(minimise, "odd.yml", *TARGET)
    assert run(minimise, "odd.yml", *TARGET, "--out", "other.yml").exit_code == 0
    assert Path("other.yml").read_text() == Path("odd.minimal.yml").read_text()


def test_minimise_says_how_often_a_flaky_scenario_showed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_in(monkeypatch, False, True, True)  # three or four of any five
    write_scenario(ODD, Path("odd.yml"))
    assert re.search(
        r"1 operation of 3, shown by [34] of 5 further runs", run(minimise, "odd.yml", *TARGET).output
    )


def test_minimise_refuses_what_breaks_nothing_and_what_cannot_be_done() -> None:
    write_scenario(ODD, Path("odd.yml"))
    with pytest.raises(
        UsageError, match=r"^odd\.yml: every invariant holds in 5 runs; there is nothing to minimise"
    ):
        run(minimise, "odd.yml", *TARGET)
    Path("unset.yml").write_text(dump_scenario(ODD).replace("num_seq_slots: 2", "num_seq_slots: 0"))
    with pytest.raises(LaunchError, match=r"unset\.yml: target now_and_then:NowAndThen cannot do it: seats must"):
        run(minimise, "unset.yml", *TARGET)


def test_what_a_relation_alone_sees_is_seen_by_a_replay() -> None:
    operations = (Admit("a", 4), Admit("b", 7), Admit("c", 10), Step())
    write_scenario(Scenario(Config("dflash", 3, 3, ()), operations), Path("order.yml"))
    result = run(replay, "order.yml", "--fault", "slots-in-old-order", "--isolation", "none")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "R-ORDER: c at position 11: drafts differ from a run with batches in the opposite order",
        "  after operation 3, step()",
        "order.yml: violation in operation 3, step()",
    ]


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness", "explore", "--fault", "drafts-not-reserved", "--seconds", "600"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert first.startswith("I-BUDGET:overrun:tokens: ")
    assert process.returncode == 1, rest
    assert rest.splitlines()[-1].endswith("; interrupted")
    assert (tmp_path / "found" / "I-BUDGET-overrun-tokens" / "scenario.yml").exists()


@pytest.mark.slow
def test_an_interrupt_before_anything_was_found_ends_as_a_shell_expects(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness", "explore", "--seconds", "600", "--database", "db"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while not (tmp_path / "db").exists():  # it searches now, or is about to
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        said = process.stdout.read()
    assert process.returncode == 130, said
    assert said.splitlines()[-1].endswith("interrupted")
    assert "Traceback" not in said
