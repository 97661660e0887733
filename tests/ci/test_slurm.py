"""The Slurm pipeline on a real slurmctld and slurmd of one machine, started here and ended again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkouts import SMALL, environment, lay_checkout
from slurm_site import HOW_TO_INSTALL, is_installed, running_slurm

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(not is_installed(), reason=HOW_TO_INSTALL)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with running_slurm(tmp_path_factory.mktemp("slurm")) as client:
        yield client


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return lay_checkout(tmp_path / "checkout")


def submit(checkout: Path, site: dict[str, str], *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    variables = environment(checkout, SMALL, site, {"RESULTS": "results"}, more)
    command = ["ci/slurm/submit", *arguments]
    done = subprocess.run(command, cwd=checkout, env=variables, capture_output=True, text=True, check=False)
    # What a person would look at, for the evidence and for whoever looks into a failure.
    for log in sorted(checkout.glob("slurm-*.log")):
        sys.stdout.write(f"--- {log.name}\n{log.read_text()}")
    sys.stdout.write(f"--- submit {' '.join(arguments)}, exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def logs(checkout: Path) -> str:
    return "".join(path.read_text() for path in checkout.glob("slurm-*.log"))


def test_an_array_of_shards_and_its_merge_pass_on_a_real_slurm(checkout: Path, site: dict[str, str]) -> None:
    done = submit(checkout, site, "--array=1-2")
    assert done.returncode == 0, done.stderr
    printed = logs(checkout)
    assert re.search(r"^2 logs, 4 tests: 4 passed.*; 0 findings$", printed, re.MULTILINE)
    states = {path.name: path.read_text() for path in (checkout / "results").glob("*.status")}
    assert states == {"shard-1.status": "0\n", "shard-2.status": "0\n"}
    assert (checkout / "results" / "merged.xml").exists()


def test_a_shard_that_fails_fails_the_merge_which_runs_all_the_same(checkout: Path, site: dict[str, str]) -> None:
    test = "repro_cases/test_reproducers.py::test_bug[#17619-dflash-exact]"
    (checkout / "waives.txt").write_text(f"{test} XFAIL (nvbugs/1)\n")
    done = submit(checkout, site, "--array=1-2", WAIVES="waives.txt")
    assert done.returncode == 1
    assert re.search(r"^2 logs, 4 tests: .*; 0 findings$", logs(checkout), re.MULTILINE)


def test_slurm_gives_each_task_a_gpu_of_its_own_and_tests_lease_inside_it(
    checkout: Path, site: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "devices")
    from machines import lay_smi

    (checkout / "test_leases.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.gpus(1)\n"
        "def test_one():\n"
        "    print('leased', os.environ['CUDA_VISIBLE_DEVICES'], 'of', os.environ['OUTER'])\n"
        "@pytest.mark.gpus(2)\n"
        "def test_two(): assert False, 'it must not run'\n"
    )
    results = "results-$SLURM_ARRAY_TASK_ID.jsonl"
    script = f"OUTER=$CUDA_VISIBLE_DEVICES .venv/bin/python -m pytest -s -q test_leases.py --results {results}"
    variables = environment(
        checkout, site, {"PATH": lay_smi(tmp_path / "smi", 2), "HARNESS_DEVICES_DIR": str(tmp_path / "locks")}
    )
    command = ["sbatch", "--wait", "--array=1-2", "--gres=gpu:1", "--output=slurm-%a.log", f"--wrap={script}"]
    subprocess.run(command, cwd=checkout, env=variables, check=True, capture_output=True)
    printed = logs(checkout)
    sys.stdout.write(printed)
    assert sorted(re.findall(r"leased (\S+) of (\d)", printed)) == [("GPU-aaaaaaaa", "0"), ("GPU-bbbbbbbb", "1")]
    logged = "".join(path.read_text() for path in checkout.glob("results-*.jsonl"))
    reason = r"unsupported: needs 2 GPUs, and 1 GPU can be used here with CUDA_VISIBLE_DEVICES='\d'"
    assert len(re.findall(reason, logged)) == 2
