"""What a person can get wrong ends in one line and its exit code, never in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENARIO = """\
config: {worker: dflash, num_seq_slots: 2, max_num_requests: 2, buckets: [1, 2]}
operations:
- admit: {request: a, prompt_len: 3}
- step: {}
"""


def harness(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", *arguments]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, check=False)


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, *texts: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for text in texts:
        assert text in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ("step: {}", "stop: {}", ("bad.yml:4:3:", "unknown operation", "capture, warmup, admit")),
        ("prompt_len: 3", "prompt_len: three", ("bad.yml:3:35:", "expected int, found 'three'")),
        ("prompt_len: 3", "prompt: 3", ("bad.yml:3:", "unknown field")),
        (
            "buckets: [1, 2]",
            "buckets: [1, 3]",
            ("bad.yml:1:9:", "buckets must lie between 1 and max_num_requests"),
        ),
        ("- step: {}", "- step: {requests: [b]}", ("bad.yml:4:3:", "operation 1", "request 'b' is not running")),
        ("request: a", "request: &x a", ("bad.yml: ok",)),
        ("- step: {}", "- step: {}\n- step: *x", ("bad.yml:5:9:", "aliases are not allowed")),
        ("config:", "config: [", ("bad.yml", "not YAML")),
        ("request: a", "request: !!python/object:os.system a", ("bad.yml:3:", "not a value")),
        ("config: {worker: dflash,", "config: {worker: eagle,", ("bad.yml:1:9:", "worker must be one of")),
    ],
)
def test_a_bad_scenario_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, texts: tuple[str, ...]
) -> None:
    assert old in SCENARIO
    (tmp_path / "bad.yml").write_text(SCENARIO.replace(old, new))
    done = harness("replay", "bad.yml", cwd=tmp_path)
    if texts == ("bad.yml: ok",):
        assert (done.returncode, done.stdout.strip()) == (0, "bad.yml: ok")
    else:
        assert_one_line(done, 2, *texts)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 5000, b"a: 1\na: 2\n", b"- 1\n"])
def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.yml").write_bytes(content)
    assert_one_line(harness("replay", "bad.yml", cwd=tmp_path), 2, "bad.yml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert_one_line(harness("replay", "none.yml", cwd=tmp_path), 2, "none.yml: cannot be read: No such file")
    assert_one_line(harness("waives", "check", "none.txt", cwd=tmp_path), 2, "none.txt")
    assert_one_line(harness("lists", "check", "none.yml", cwd=tmp_path), 2, "none.yml")


def test_an_unknown_bug_names_the_nearest(tmp_path: Path) -> None:
    assert_one_line(harness("repro", "nvbugs/653587", cwd=tmp_path), 2, "nearest: nvbugs/6535874")


def test_an_unknown_command_or_option_is_one_line(tmp_path: Path) -> None:
    assert_one_line(harness("reproduce", cwd=tmp_path), 2, "No such command 'reproduce'")
    assert_one_line(harness("repro", "6535874", "--colour", cwd=tmp_path), 2, "No such option")


def test_a_bad_list_line_has_file_line_column_and_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "waives.txt").write_text("a.py::t SKIP (x)\na.py::u SKIP reason\n")
    done = harness("waives", "check", "waives.txt", cwd=tmp_path)
    assert done.returncode == 1
    assert "waives.txt:2:" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_result_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    arguments = ("6535874", "--orders", "1", "--worker", "dflash", "--json", "no/such/folder/x.json")
    done = harness("repro", *arguments, cwd=tmp_path)
    assert_one_line(done, 2, "no/such/folder/x.json: cannot be written")


@pytest.fixture
def without_torch(tmp_path: Path) -> dict[str, str]:
    """An interpreter's settings in which torch is not installed."""
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.machinery as m\n"
        "find = m.PathFinder.find_spec\n"
        "m.PathFinder.find_spec = classmethod(\n"
        "    lambda cls, name, *a: None if name.split('.')[0] == 'torch' else find(name, *a))\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(hide), str(ROOT)])}


def test_without_torch_launching_says_what_to_install(tmp_path: Path, without_torch: dict[str, str]) -> None:
    (tmp_path / "s.yml").write_text(SCENARIO)
    for arguments in (("repro", "6535874"), ("replay", "s.yml")):
        done = harness(*arguments, cwd=tmp_path, **without_torch)
        assert_one_line(done, 3, "torch is not installed", "install 'specdec-harness[run]'")


def test_without_torch_lists_and_waivers_work(tmp_path: Path, without_torch: dict[str, str]) -> None:
    (tmp_path / "waives.txt").write_text("a.py::t SKIP (https://nvbugs/1)\n")
    assert harness("waives", "check", "waives.txt", cwd=tmp_path, **without_torch).returncode == 0
    rendered = harness(
        "lists", "render", "--test-db", str(ROOT / "test_lists/test-db"), "--context", "l0_cpu",
        "--match", "stage=pre_merge,backend=generic", cwd=tmp_path, **without_torch,
    )  # fmt: skip
    assert rendered.returncode == 0
    assert "repro_cases/" in rendered.stdout
    assert harness("bugs", cwd=tmp_path, **without_torch).returncode == 0


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m harness bugs | true"
    settings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
