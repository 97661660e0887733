"""`harness lists` and `harness waives` as a person runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main

DB = """\
l0_slots:
- condition:
    ranges: {system_gpu_count: {gte: 1, lte: 1}}
    wildcards: {gpu: '*h100*'}
    terms: {stage: pre_merge}
  tests:
  - repro/test_a.py::test_pool[x] TIMEOUT(90) # slow
  - repro/test_b.py ISOLATION,TIMEOUT (5)
- condition:
    terms: {stage: post_merge}
  tests:
  - repro
"""
WAIVES = """\
full:H100/repro/test_a.py::test_pool[x] SKIP (https://nvbugs/1)
repro/test_a.py SKIP (https://nvbugs/2)
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "test_lists" / "test-db"
    folder.mkdir(parents=True)
    (folder / "l0_slots.yml").write_text(DB)
    (tmp_path / "test_lists" / "waives.txt").write_text(WAIVES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> _Run:
    return _Run(capsys)


class _Run:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        assert isinstance(left.value.code, int)
        return left.value.code, *self.capsys.readouterr()


@pytest.mark.usefixtures("tree")
def test_render_prints_the_entries_of_the_selected_blocks_as_written(run: _Run) -> None:
    facts = "gpu=NVIDIA H100,system_gpu_count=1,stage=pre_merge"
    expected = "repro/test_a.py::test_pool[x] TIMEOUT(90)\nrepro/test_b.py ISOLATION,TIMEOUT (5)\n"
    assert run("lists", "render", "--context", "l0_slots", "--match", facts) == (0, expected, "")
    json = '{"terms": {"stage": "post_merge"}}'
    assert run("lists", "render", "--context", "l0_slots", "--match", json) == (0, "repro\n", "")


@pytest.mark.usefixtures("tree")
def test_an_empty_selection_says_which_condition_removed_every_block(run: _Run) -> None:
    code, out, err = run("lists", "render", "--match", "gpu=A10,stage=pre_merge")
    assert (code, out) == (1, "")
    assert "gpu is A10, but test_lists/test-db/l0_slots.yml:4:17 expects *h100*" in err
    assert "stage is pre_merge, but test_lists/test-db/l0_slots.yml:10:13 expects post_merge" in err


def test_render_prints_what_it_can_read_and_fails_for_what_it_cannot(run: _Run, tree: Path) -> None:
    (tree / "test_lists/test-db/l0_slots.yml").write_text(
        DB.replace("  - repro\n", "  - repro\n  - a.py SKP (x)\n")
    )
    code, out, err = run("lists", "render", "--match", "stage=post_merge")
    assert (code, out) == (1, "repro\n")
    assert err == (
        "test_lists/test-db/l0_slots.yml:13:10: unknown-marker unknown marker 'SKP'; did you mean SKIP?\n"
    )


@pytest.mark.usefixtures("tree")
def test_explain_shows_conditions_that_are_still_open(run: _Run) -> None:
    code, out, _ = run("lists", "explain", "repro/test_b.py::test_x", "--assume", "gpu=H100")
    assert code == 0
    assert "l0_slots.yml:8:5: repro/test_b.py ISOLATION,TIMEOUT (5)\n  names the whole file\n" in out
    assert "where system_gpu_count is 1 and stage is pre_merge" in out
    assert "it loses TIMEOUT" in out  # upstream's reading of `ISOLATION,TIMEOUT (5)`
    assert "l0_slots.yml:12:5: repro\n  names the folder" in out


@pytest.mark.usefixtures("tree")
def test_explain_says_which_fact_keeps_a_test_out(run: _Run) -> None:
    _, out, _ = run("lists", "explain", "repro/test_b.py::test_x", "--assume", "gpu=A10,stage=pre_merge")
    assert "out: test_lists/test-db/l0_slots.yml:2:3 block 1 of l0_slots: gpu is A10" in out


@pytest.mark.usefixtures("tree")
def test_explain_names_the_nearest_entry_of_an_unknown_test(run: _Run) -> None:
    code, out, _ = run("lists", "explain", "repo/test_b.py")
    assert code == 0
    assert "repo/test_b.py: no entry names it; did you mean repro/test_b.py" in out


@pytest.mark.usefixtures("tree")
def test_waives_explain_says_why_a_gpu_prefix_does_not_reach_a_stage(run: _Run) -> None:
    _, out, _ = run("waives", "explain", "repro/test_a.py::test_pool[x]", "--stage", "H100_PCIe-PyTorch-1")
    assert "waives.txt:2:1: repro/test_a.py SKIP (https://nvbugs/2)\n  in: applies to the whole file" in out
    assert "out: full:H100/ does not reach stage H100_PCIe-PyTorch-1, whose head is H100_PCIe" in out
    _, out, _ = run("waives", "explain", "repro/test_a.py::test_pool[x]", "--stage", "H100-PyTorch-1")
    assert "waives.txt:1:1: full:H100/repro/test_a.py::test_pool[x] SKIP (https://nvbugs/1)\n  in: applies" in out
    _, out, _ = run("waives", "explain", "elsewhere.py::t")
    assert out == "elsewhere.py::t: not waived by test_lists/waives.txt\n"


def test_check_exits_with_0_clean_1_findings_2_unreadable(run: _Run, tree: Path) -> None:
    (tree / "clean.txt").write_text("a.py::t SKIP (https://nvbugs/1)\n")
    assert run("lists", "check", "clean.txt") == (0, "No findings in 1 file.\n", "")
    assert run("waives", "check", "clean.txt") == (0, "No findings in 1 file.\n", "")
    (tree / "bad.txt").write_text("a.py::t SKP (x)\n")
    message = "bad.txt:1:9: unknown-marker unknown marker 'SKP'; did you mean SKIP?\n"
    for group in ("lists", "waives"):
        assert run(group, "check", "bad.txt") == (1, f"{message}Found 1 error in 1 file.\n", "")
        code, out, err = run(group, "check", "gone.txt")
        assert (code, out) == (2, "")
        assert err.startswith("harness: gone.txt: cannot be read: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["lists", "render", "--context", "l0_slot", "--match", ""],
        ["lists", "render", "--match", "gpu"],
        ["lists", "render", "--match", "system_gpu_count=many,stage=pre_merge"],
        ["lists", "render", "--nonsense"],
        ["lists", "explain", "x", "--test-db", "gone"],
        ["waives", "explain", "x", "--waives-file", "gone"],
        ["waives", "explain"],
    ],
)
@pytest.mark.usefixtures("tree")
def test_what_a_person_got_wrong_is_one_line_and_exit_code_2(run: _Run, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_problem_never_sends_control_characters_to_a_terminal(run: _Run, tree: Path) -> None:
    (tree / "bad.txt").write_bytes(b"a.py::t \x1b[31mSKP (x)\n")
    _, out, _ = run("waives", "check", "bad.txt")
    assert "\x1b" not in out


@pytest.mark.usefixtures("tree")
def test_list_work_imports_nothing_that_is_slow() -> None:
    script = (
        "import sys\nfrom harness.cli import main\n"
        "try: main(['lists', 'check'])\n"
        "except SystemExit as left: assert left.code == 1\n"
        "print(sorted({'torch', 'rich', 'rapidfuzz', 'pytest', 'difflib', 'json'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
