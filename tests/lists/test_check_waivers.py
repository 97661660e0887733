"""What `harness waives check` finds, family by family. What the thirty problems show is not repeated here."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_support import check_waives, run

BUG = "SKIP (https://nvbugs/6000001)"
CHAT = "test_e2e.py::test_chat[model-a-fast]"
STAGES = "H100_PCIe-PyTorch-1\nDGX_H100-4_GPUs-PyTorch-1\nRTXPro6000D-PyTorch-Post-Merge-1\n"


@pytest.mark.parametrize(
    "target",
    [
        CHAT,
        "accuracy/test_llm.py::TestLlama::test_fp8",
        "accuracy/test_llm.py::TestLlama",
        "accuracy/test_llm.py",
        "accuracy",
        "./unittest/executor/",
        'unittest/executor/test_rpc.py -k "async"',
    ],
)
def test_whatever_exists_at_any_level_is_no_error(tmp_path: Path, target: str) -> None:
    ran = check_waives(tmp_path, f"{target} {BUG}\n")
    assert (ran.code, set(ran.codes) - {"upstream-level"}) == (0, set())


@pytest.mark.parametrize(
    ("target", "code", "suggestion"),
    [
        (
            "acuracy/test_llm.py::TestLlama::test_bf16",
            "unknown-file",
            "accuracy/test_llm.py::TestLlama::test_bf16",
        ),
        ("acuracy/test_llm.py", "unknown-file", "accuracy/test_llm.py"),
        ("unittest/exeutor", "unknown-folder", "unittest/executor"),
        ("accuracy/test_llm.py::TestLama", "unknown-class", "accuracy/test_llm.py::TestLlama"),
        ("accuracy/test_llm.py::test_bf16", "unknown-test", "accuracy/test_llm.py::TestLlama::test_bf16"),
        ("test_e2e.py::test_caht[model-a-fast]", "unknown-test", CHAT),
        ("test_e2e.py::test_chat[model-a-slow]", "unknown-parameter", CHAT),
        ("accuracy/test_llm.py::TestLlama::test_bf16[x]", "unknown-parameter", "TestLlama::test_bf16"),
        ("test_e2e.py::test_chat[model-a]", "truncated-parameter", CHAT),
        ("TestRpc::test_async", "no-file", "unittest/executor/test_rpc.py::TestRpc::test_async"),
        ("KvCacheTest.FillsPages", "not-a-test-id", "cpp/test_unit_tests.py"),
    ],
)
def test_a_wrong_name_is_told_by_its_wrong_part_and_corrected(
    tmp_path: Path, target: str, code: str, suggestion: str
) -> None:
    ran = check_waives(tmp_path, f"{target} {BUG}\n")
    assert ran.code == 1
    assert ran.says(f"waives.txt:1:1: {code}", suggestion)
    assert ran.codes.count(code) == len([c for c in ran.codes if c != "upstream-level"])


@pytest.mark.parametrize(
    "target", ["test_data/unit", "unittest", "a.py", "a-b/c.d/e.py::T::t[x.y::z]", "Tools/a.py::t"]
)
def test_a_name_of_the_right_shape_is_no_finding_while_no_tests_are_known(tmp_path: Path, target: str) -> None:
    assert set(check_waives(tmp_path, f"{target} {BUG}\n", ids=None).codes) <= {"upstream-level"}


def test_a_moved_test_is_found_in_its_new_file_and_one_of_the_same_file_comes_first(tmp_path: Path) -> None:
    ids = "a/test_new.py::test_moved\na/test_old.py::test_moved_on\na/test_old.py::test_quick\n"
    ran = check_waives(tmp_path, f"a/test_old.py::test_moved {BUG}\n", ids=ids)
    assert ran.says("did you mean a/test_old.py::test_moved_on or a/test_new.py::test_moved?")


@pytest.mark.parametrize(
    ("reason", "code", "says"),
    [
        ("SKIP", "no-reason", "SKIP does not say why"),
        ("XFAIL ()", "no-reason", "write XFAIL (https://nvbugs/<number>)"),
        ("SKIP (fails since Monday)", "no-bug", "'fails since Monday' names no bug"),
        ("SKIP (nvbug 6535874)", "malformed-bug", "did you mean https://nvbugs/6535874?"),
        ("SKIP (6535874)", "malformed-bug", "did you mean https://nvbugs/6535874?"),
        ("SKIP (https://nvbugs/)", "malformed-bug", "write https://nvbugs/<number>"),
        ("SKIP (https://nvbugs/1; until=2026-01-31)", "expired", "expired on 2026-01-31, 1 days ago"),
        ("SKIP (https://nvbugs/1; until=soon)", "bad-date", "expected until=YYYY-MM-DD"),
        ("SKIP (https://nvbugs/1; owenr=me)", "unknown-field", "did you mean 'owner'?"),
        ("SKIP XFAIL (https://nvbugs/1)", "two-outcomes", "SKIP and XFAIL on one line"),
        ("TIMEOUT (90)", "no-outcome", "TIMEOUT alone waives nothing"),
        ("SKPI (https://nvbugs/1)", "unknown-marker", "did you mean SKIP?"),
        ("(https://nvbugs/1)", "no-marker", "add e.g. 'SKIP (https://nvbugs/...)'"),
        ("SKIP https://nvbugs/1", "reason-without-parentheses", "did you mean SKIP (https://nvbugs/1)?"),
        ("", "no-marker", "add e.g. 'SKIP (https://nvbugs/...)'"),
    ],
)
def test_a_marker_or_reason_that_is_not_right_is_told(tmp_path: Path, reason: str, code: str, says: str) -> None:
    ran = check_waives(tmp_path, f"{CHAT} {reason}\n", "--today", "2026-02-01", "--ignore", "upstream-*")
    assert ran.codes == [code]
    assert ran.says(code, says)


@pytest.mark.parametrize(
    "reason", ["https://nvbugs/1; until=2026-02-01", "https://github.com/o/r/issues/5", BUG[6:-1]]
)
def test_a_reason_with_a_bug_that_has_not_expired_is_no_finding(tmp_path: Path, reason: str) -> None:
    assert check_waives(tmp_path, f"{CHAT} SKIP ({reason})\n", "--today", "2026-02-01").findings == []


def test_an_owner_is_missed_only_where_one_is_required(tmp_path: Path) -> None:
    text = f"{CHAT} {BUG}\nunittest/executor/test_rpc.py SKIP (https://nvbugs/1; owner=rt)\n"
    assert check_waives(tmp_path, text).findings == []
    assert check_waives(tmp_path, text, "--require-owner").findings == [(1, "no-owner")]


@pytest.mark.parametrize(
    "states",
    [
        "number,state,closed on\nhttps://nvbugs/6000001,closed,2026-01-02\n7,open,\n",
        "state;bug id\nVerified - Closed;6000001\n",
        '[{"number": 6000001, "state": "Fixed", "closedOn": "2026-01-02T10:00:00"}]',
        '{"6000001": "closed"}',
        '{"nvbugs/6000001": {"status": "Done"}}',
    ],
)
def test_every_form_of_export_tells_a_closed_bug(tmp_path: Path, states: str) -> None:
    (tmp_path / "bugs").write_text(states)
    text = f"{CHAT} {BUG}\nunittest/executor/test_rpc.py SKIP (https://nvbugs/7)\n"
    ran = check_waives(tmp_path, text, "--bug-states", str(tmp_path / "bugs"))
    assert ran.findings == [(1, "closed-bug")]


@pytest.mark.parametrize(
    "states",
    ["", "[1]", "{", "a,b\n1,2\n", '[{"number": 1}]', "number,state,closed on\n1,closed,2026-02-31\n", '["x"]'],
)
def test_an_export_that_cannot_be_read_is_one_line(tmp_path: Path, states: str) -> None:
    (tmp_path / "bugs").write_text(states)
    ran = check_waives(tmp_path, f"{CHAT} {BUG}\n", "--bug-states", str(tmp_path / "bugs"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "bugs" in ran.err


def test_the_same_test_and_place_twice_is_a_duplicate_or_says_what_differs(tmp_path: Path) -> None:
    text = f"{CHAT} {BUG}\n{CHAT} SKIP (nvbugs/6000001)\n{CHAT} XFAIL (https://nvbugs/6000001)\n"
    ran = check_waives(tmp_path, text)
    assert ran.findings == [(2, "duplicate"), (3, "conflict")]
    assert ran.says("waives.txt:3:1", "XFAIL here and SKIP there")


def test_a_narrow_line_inside_a_wide_one_is_shadowed_unless_its_outcome_differs(tmp_path: Path) -> None:
    file, function = "accuracy/test_llm.py", "accuracy/test_llm.py::TestLlama::test_fp8"
    text = f"{file} {BUG}\n{function} {BUG}\n{function}[tp2-trtllm] XFAIL (https://nvbugs/1)\n"
    text += f"full:H100/{function} {BUG}\n"
    ran = check_waives(tmp_path, text, "--ignore", "upstream-*")
    assert ran.findings == [(2, "shadowed"), (4, "redundant")]
    assert ran.says("waives.txt:2:1", "line 1 already waives the whole file")


def test_a_prefixed_line_that_says_something_else_than_the_general_one_is_no_finding(tmp_path: Path) -> None:
    text = f"full:H100/{CHAT} XFAIL (https://nvbugs/1)\n{CHAT} {BUG}\n"
    assert check_waives(tmp_path, text).findings == []


def test_lines_with_arguments_are_compared_only_with_their_like(tmp_path: Path) -> None:
    rpc = "unittest/executor/test_rpc.py"
    text = f'{rpc} {BUG}\n{rpc} -k "async" {BUG}\n{rpc}  -k  "async" {BUG}\n'
    assert check_waives(tmp_path, text, "--ignore", "unsorted").findings == [(3, "duplicate")]


@pytest.mark.parametrize(
    ("prefix", "code", "says"),
    [
        ("H100_PCIe", "", ""),
        ("RTXPro600D", "unknown-prefix", "did you mean RTXPro6000D?"),
        ("H100", "dead-prefix", "the heads are DGX_H100, H100_PCIe"),
        ("sm100", "dead-prefix", "must equal a stage's whole head"),
    ],
)
def test_a_prefix_is_compared_with_the_heads_of_the_stages(
    tmp_path: Path, prefix: str, code: str, says: str
) -> None:
    (tmp_path / "stages").write_text(f"# of the pipeline\n{STAGES}")
    text = f"full:{prefix}/{CHAT} {BUG}\n"
    ran = check_waives(tmp_path, text, "--stages", str(tmp_path / "stages"))
    assert ran.codes == ([code] if code else [])
    assert says in ran.out
    assert check_waives(tmp_path, text).codes == []  # without stages nothing is known of prefixes


def test_of_unsorted_lines_only_those_that_must_move_are_told(tmp_path: Path) -> None:
    names = ["b", "c", "a", "d", "f", "e"]
    ran = check_waives(tmp_path, "".join(f"{n}.py::t {BUG}\n" for n in names), ids=None)
    assert ran.findings == [(3, "unsorted"), (6, "unsorted")]
    assert ran.says("waives.txt:3:1", "move it before line 1")
    assert ran.says("waives.txt:6:1", "move it after line 4")


def test_what_fmt_has_sorted_is_sorted(tmp_path: Path) -> None:
    names = ["zz.py", "full:H100/a.py", "a.py::t[b]", "a.py", "A.py", "a/b.py"]
    check_waives(tmp_path, "".join(f"{n} {BUG}\n" for n in names), ids=None)
    assert run("waives", "fmt", str(tmp_path / "waives.txt")).code == 0
    assert "unsorted" not in run("waives", "check", str(tmp_path / "waives.txt")).codes


def test_a_waiver_is_listed_when_an_entry_runs_all_or_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text('accuracy/test_llm.py::TestLlama\nunittest/executor -k "x"\n')
    listed = ["accuracy", "accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm]", 'unittest/executor -k "x"']
    missing = ["accuracy/test_llm.py::TestQwen", 'test_e2e.py -k "x"']
    text = "".join(f"{n} {BUG}\n" for n in (*listed, *missing))
    options = ("--lists", str(tmp_path / "list.txt"), "--ignore", "upstream-*,unsorted,shadowed")
    assert check_waives(tmp_path, text, *options).findings == [(4, "unlisted-waiver"), (5, "unlisted-waiver")]


def test_a_name_that_is_wrong_is_not_reported_as_unlisted_too(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{CHAT}\n")
    ran = check_waives(tmp_path, f"test_e2e.py::test_caht {BUG}\n", "--lists", str(tmp_path / "list.txt"))
    assert ran.codes == ["unknown-test"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accuracy/test_llm.py", "upstream ignores a waiver of a whole file"),
        ("accuracy/test_llm.py::TestLlama", "upstream ignores a waiver of a whole class"),
        ("accuracy/test_llm.py::TestLlama::test_fp8", "upstream ignores a waiver of a whole function"),
        ("unittest/executor", "its inner session knows no folders"),
    ],
)
def test_levels_that_upstream_does_not_know_are_notes(tmp_path: Path, text: str, says: str) -> None:
    ran = check_waives(tmp_path, f"{text} {BUG}\n")
    assert (ran.code, ran.codes) == (0, ["upstream-level"])
    assert says in ran.out


def test_levels_that_upstream_knows_are_none(tmp_path: Path) -> None:
    for text in (
        "accuracy/test_llm.py::TestLlama::test_bf16",
        "unittest/executor/test_worker.py::test_worker",
        CHAT,
    ):
        assert check_waives(tmp_path, f"{text} {BUG}\n").findings == []


def test_a_reading_that_differs_upstream_is_a_note(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"{CHAT} SKIP (https://nvbugs/1 (again))\n")
    assert ran.says("upstream-reading (note)", "cuts the reason")
    ran = check_waives(tmp_path, f"full:fast/{CHAT} {BUG}\n")
    assert ran.says("upstream-prefix (note)", "'fast'")


def test_the_yaml_form_is_checked_by_the_same_rules(tmp_path: Path) -> None:
    text = "- test: test_e2e.py::test_caht\n  marker: SKIP\n  until: 2020-01-01\n- test: accuracy\n  marker: SKP\n"
    ran = check_waives(tmp_path, text, name="waives.yml")
    assert set(ran.codes) == {"unknown-test", "no-bug", "expired", "unknown-marker"}
