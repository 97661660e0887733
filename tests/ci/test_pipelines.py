"""The pipelines under `ci/` are read as their systems read them, and what they run is run, on a CPU list."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from checkouts import SMALL, WHOLE, bash, environment, lay_checkout
from pipelines import ACTIONS, JENKINS, PIPELINES, SLURM, Pipeline, directives

from harness.catalogue import load_catalogue


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return lay_checkout(tmp_path / "checkout")


def run_all(scripts: Sequence[str], folder: Path, variables: dict[str, str]) -> str:
    printed = ""
    for script in scripts:
        done = bash(script, folder, variables)
        printed += done.stdout
        assert done.returncode == 0, script + done.stdout[-3000:] + done.stderr[-3000:]
    return printed


def run_pipeline(pipeline: Pipeline, folder: Path, chosen: dict[str, str]) -> str:
    """Run a pipeline with two shards in one folder; return what its merge printed."""
    variables = environment(folder, pipeline.environment, chosen, {"SHARDS": "2"})
    run_all(pipeline.check, folder, variables)
    collected = folder / "collected"
    collected.mkdir()
    for shard in ("1", "2"):  # each on a machine of its own, which leaves its artifacts
        run_all(pipeline.shard, folder, {**variables, "SHARD": shard})
        assert (folder / "results" / f"shard-{shard}.xml").exists()
        for artifact in (folder / "results").iterdir():
            shutil.copy2(artifact, collected)
        shutil.rmtree(folder / "results")
    return merge(pipeline, folder, variables)


def merge(pipeline: Pipeline, folder: Path, variables: dict[str, str]) -> str:
    # Between setting up and merging, the system's own steps bring the artifacts.
    at = next(index for index, script in enumerate(pipeline.merge) if "results merge" in script)
    run_all(pipeline.merge[:at], folder, variables)
    shutil.copytree(folder / "collected", folder / "results", dirs_exist_ok=True)
    return run_all(pipeline.merge[at:], folder, variables)


def passed_in(junit: Path) -> int:
    cases = list(ElementTree.parse(junit).iter("testcase"))  # noqa: S314  # our own file
    assert not [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return len(cases)


def test_what_a_pipeline_runs_selects_shards_and_merges(checkout: Path) -> None:
    printed = run_pipeline(PIPELINES["github-actions"](), checkout, SMALL)
    assert re.search(r"^2 logs, 4 tests: 4 passed.*; 0 findings$", printed, re.MULTILINE)
    assert passed_in(checkout / "results" / "merged.xml") == 4


def test_both_systems_run_the_same_commands_on_the_same_settings() -> None:
    actions, jenkins = (read() for read in PIPELINES.values())
    assert words(actions.check) == words(jenkins.check)
    assert words(actions.shard) == words(jenkins.shard)
    assert words(actions.merge) == words(jenkins.merge)
    assert {**actions.environment, "SHARDS": str(actions.shards)} == jenkins.environment


def words(scripts: Sequence[str]) -> list[list[str]]:
    """The commands of scripts, a list of words each, without those that make room: Jenkins reuses folders."""
    lines = "\n".join(scripts).replace("\\\n", " ").splitlines()
    return [line.split() for line in lines if line.strip() and not line.strip().startswith(("rm ", "mkdir "))]


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_runs_the_whole_cpu_list(name: str, checkout: Path) -> None:
    printed = run_pipeline(PIPELINES[name](), checkout, WHOLE)
    merged = re.search(r"^2 logs, (\d+) tests: \1 passed.*; 0 findings$", printed, re.MULTILINE)
    assert merged, printed
    assert int(merged[1]) >= len(load_catalogue()), "the list names every bug"
    assert passed_in(checkout / "results" / "merged.xml") == int(merged[1])


def test_jenkins_runs_as_many_shards_as_it_merges_and_hands_no_text_to_a_shell_by_interpolation() -> None:
    text = JENKINS.read_text()
    pipeline = PIPELINES["jenkins"]()
    assert pipeline.shards == int(pipeline.environment["SHARDS"])
    assert not re.search(r'\bsh\s+"', text)
    assert text.count("{") == text.count("}")
    assert text.count("archiveArtifacts") == 2


def test_actions_keep_artifacts_and_merge_whatever_happened_to_a_shard() -> None:
    workflow: dict[str, Any] = yaml.safe_load(ACTIONS.read_text())
    jobs = workflow["jobs"]
    assert jobs["shard"]["strategy"]["fail-fast"] is False
    assert jobs["merge"]["if"].startswith("always()")
    for name in ("shard", "merge"):
        (upload,) = (step for step in jobs[name]["steps"] if "upload-artifact" in step.get("uses", ""))
        assert upload["if"] == "always()"
    assert not any("${{" in step.get("run", "") for job in jobs.values() for step in job["steps"])


# --- Slurm, as far as it goes without Slurm; test_slurm.py goes on


@pytest.mark.parametrize("script", sorted(SLURM.iterdir()), ids=lambda path: path.name)
def test_a_slurm_script_is_bash(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)


def test_slurm_directives_ask_for_a_gpu_a_shard_and_none_for_the_merge() -> None:
    shards, merging = directives(SLURM / "shards.sbatch"), directives(SLURM / "merge.sbatch")
    assert shards["--array"] == "1-4"
    assert shards["--gres"] == "gpu:1"
    assert {"--requeue", "--open-mode", "--time"} <= set(shards)
    assert "--gres" not in merging


def slurm_task(checkout: Path, shard: int, **more: str) -> int:
    task = {"SLURM_ARRAY_TASK_ID": str(shard), "SLURM_ARRAY_TASK_COUNT": "2", "RESULTS": "results"}
    (checkout / "results").mkdir(exist_ok=True)
    return bash("bash ci/slurm/shards.sbatch", checkout, environment(checkout, SMALL, task, more)).returncode


def slurm_merge(checkout: Path) -> subprocess.CompletedProcess[str]:
    return bash("bash ci/slurm/merge.sbatch", checkout, environment(checkout, SMALL, {"RESULTS": "results"}))


@pytest.mark.slow
def test_a_slurm_merge_fails_for_a_shard_that_never_ran_and_for_one_that_failed(checkout: Path) -> None:
    # A test that passes although its waiver says that it fails is a failure.
    names = [f"{bug}-{worker}-exact" for bug in ("#17619", "nvbugs/6451032") for worker in ("dflash", "dspark")]
    lines = [f"repro_cases/test_reproducers.py::test_bug[{name}] XFAIL (nvbugs/1)\n" for name in names]
    (checkout / "waives.txt").write_text("".join(lines))
    assert slurm_task(checkout, 1) == 0
    lost = slurm_merge(checkout)
    assert lost.returncode == 1
    assert "shard 2/2 is missing" in lost.stdout
    assert slurm_task(checkout, 2, WAIVES="waives.txt") == 1
    failed = slurm_merge(checkout)
    assert failed.returncode == 1, failed.stdout
    assert "0 findings" in failed.stdout
