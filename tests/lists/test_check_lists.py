"""What `harness lists check` finds. What the thirty problems show is not repeated here."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_support import IDS, check_lists

PRE = "terms: {stage: pre_merge}"
POST = "terms: {stage: post_merge}"


def blocks(*parts: tuple[str, str]) -> str:
    """A list `l0_h100` of blocks, each a condition and its entries joined by `|`."""
    text = "l0_h100:\n"
    for condition, entries in parts:
        text += f"- condition:\n    {condition}\n  tests:\n" if condition else "- condition:\n  tests:\n"
        text += "".join(f"  - {entry}\n" for entry in entries.split("|"))
    return text


def test_a_clean_list_has_no_findings_with_or_without_known_tests(tmp_path: Path) -> None:
    text = blocks((PRE, 'accuracy/test_llm.py::TestLlama|unittest/executor -k "async or worker"'))
    assert check_lists(tmp_path, text).out == "No findings in 1 file.\n"
    assert check_lists(tmp_path, text, ids=IDS).code == 0


def test_an_entry_that_names_nothing_is_found_with_a_suggestion(tmp_path: Path) -> None:
    ran = check_lists(tmp_path, blocks(("", "accuracy/test_lm.py::TestLlama::test_bf16 TIMEOUT (90)")), ids=IDS)
    assert ran.says("l0_h100.yml:4:5: unknown-file", "did you mean accuracy/test_llm.py::TestLlama::test_bf16 or")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("async", False),
        ("ASYNC and not worker", False),
        ("(gone or rpc) and async", False),
        ("gone", True),
        ("async and worker", True),
        ("not unit and gone", True),
        ("async or", False),  # no expression: pytest will say so
    ],
)
def test_an_expression_that_deselects_every_known_test_matches_nothing(
    tmp_path: Path, expression: str, found: bool
) -> None:
    ran = check_lists(tmp_path, blocks(("", f'unittest/executor -k "{expression}"')), ids=IDS)
    assert ran.codes == (["matches-nothing"] if found else [])


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (PRE, PRE, True),
        (PRE, POST, False),
        (PRE, "terms: {backend: pytorch}", True),
        ("wildcards: {gpu: '*h100*'}", "wildcards: {gpu: ['*a10*', '*H100*']}", True),
        ("wildcards: {gpu: '*h100*'}", "wildcards: {gpu: '*b200*'}", False),
        ("ranges: {n: {gte: 1, lte: 2}}", "ranges: {n: {gte: 2}}", True),
        ("ranges: {n: {lte: 1}}", "ranges: {n: {gte: 2}}", False),
    ],
)
def test_a_test_of_two_blocks_runs_twice_only_where_both_can_be_selected(
    tmp_path: Path, one: str, other: str, together: bool
) -> None:
    ran = check_lists(tmp_path, blocks((one, "a.py::t"), (other, "a.py::t")))
    assert ran.codes == (["repeated-entry"] if together else [])


def test_with_stages_two_blocks_count_together_where_one_stage_selects_both(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("H100_PCIe-PyTorch-1\nA10-PyTorch-1 gpu=A10,stage=post_merge\n")
    both = blocks(("wildcards: {gpu: '*h1*'}", "a.py::t"), ("wildcards: {gpu: '*100*'}", "a.py::t"))
    assert check_lists(tmp_path, both).codes == []  # the patterns alone prove nothing
    assert check_lists(tmp_path, both, "--stages", str(tmp_path / "stages")).codes == ["repeated-entry"]


def test_an_entry_inside_a_wider_one_is_told(tmp_path: Path) -> None:
    ran = check_lists(tmp_path, blocks(("", 'a/b.py::T::t[x]|a|a/c.py -k "k"|d.py -k "k"|d.py -k "l"')))
    assert ran.findings == [(4, "repeated-test"), (6, "repeated-test")]
    assert ran.says("l0_h100.yml:4:5", "line 5 runs it already: a")


def test_a_block_that_no_stage_selects_says_how_close_it_comes(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("H100_PCIe-PyTorch-1\nDGX_B200-4_GPUs-PyTorch-Post-Merge-2\n")
    text = blocks(
        ("wildcards: {gpu: '*h100*'}", "a.py"),
        ("{wildcards: {gpu: '*b200*'}, terms: {stage: pre_merge}}", "b.py"),
        ("ranges: {system_gpu_count: {gte: 4, lte: 4}}", "c.py"),
    )
    ran = check_lists(tmp_path, text, "--stages", str(tmp_path / "stages"))
    assert ran.findings == [(6, "dead-block")]
    assert ran.says("block 2", "and not")


def test_a_range_that_no_number_fulfils_needs_no_stages(tmp_path: Path) -> None:
    assert check_lists(tmp_path, blocks(("ranges: {n: {gte: 2, lte: 1}}", "a.py"))).codes == ["dead-block"]


def test_a_test_in_no_list_is_told_once_a_function_and_only_when_asked(tmp_path: Path) -> None:
    text = blocks(("", "accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm]|unittest|cpp|test_e2e.py"))
    assert check_lists(tmp_path, text, ids=IDS).codes == []
    ran = check_lists(tmp_path, text, "--require-listed", ids=IDS)
    assert ran.out.count("unlisted-test") == 4
    assert ran.says("ids.txt: unlisted-test", "accuracy/test_llm.py::TestLlama::test_fp8[tp4-trtllm]")
    refused = check_lists(tmp_path, text, "--require-listed")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--tests FILE" in refused.err


def test_flat_lists_are_checked_by_the_same_rules(tmp_path: Path) -> None:
    ran = check_lists(tmp_path, "a.py::t TIMEOUT(90)\na.py::t\nfull:H100/b.py::t\n", name="flat.txt")
    assert ran.findings == [(1, "timeout-spelling"), (2, "repeated-entry"), (3, "prefix-in-list")]


def test_a_folder_is_checked_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "l0_a.yml").write_text("l0_b:\n- condition:\n  tests: []\n")
    (tmp_path / "stages").write_text("A10-PyTorch-1\n")
    check_lists(tmp_path, blocks(("", "a.py")), name="db/l0_h100.yml")
    ran = check_lists(tmp_path, "", str(tmp_path / "db"), name="empty.txt")
    assert ran.says("l0_a.yml:1:1: wrong-context")
    assert "in 3 files" in ran.out


@pytest.mark.parametrize("stages", ["", "# none\n", "a gpu\n", "a gpu=1,gpu=2\n"])
def test_stages_that_cannot_be_read_are_one_line(tmp_path: Path, stages: str) -> None:
    (tmp_path / "stages").write_text(stages)
    ran = check_lists(tmp_path, blocks(("", "a.py")), "--stages", str(tmp_path / "stages"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
