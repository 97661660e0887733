"""Thirty problems people had with upstream's lists and waivers, in the order of docs/waivers.md; what says them.

Each test shows the file as it was, in names of our own, and what would have prevented it.
"""

from __future__ import annotations

from pathlib import Path

from check_support import IDS, check_lists, check_waives, run

BUG = "SKIP (https://nvbugs/6000001)"


def test_01_a_waiver_without_a_file_is_refused_and_the_file_found(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"TestLlama::test_fp8[tp2-trtllm] {BUG}\n")
    assert ran.says(
        "waives.txt:1:1: no-file", "did you mean accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm]"
    )


def test_02_a_file_without_its_folder_gets_the_nearest_path(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"test_llm.py::TestLlama::test_bf16 {BUG}\n")
    assert ran.says("unknown-file", "did you mean accuracy/test_llm.py::TestLlama::test_bf16")


def test_03_a_gtest_name_made_into_a_path_is_named_as_such(tmp_path: Path) -> None:
    for ids in (IDS, None):  # its shape is enough: no list of tests is needed
        ran = check_waives(tmp_path, f"RequestTest/invalidInputs.py::RequestTest {BUG}\n", ids=ids)
        assert ran.says("not-a-test-id", "C++ test", "cpp/test_unit_tests.py")


def test_04_a_gtest_suite_made_into_a_file_is_named_as_such(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"KvCacheManagerV2ColdPageTest.py::KvCacheManagerV2ColdPageTest {BUG}\n")
    assert ran.codes == ["not-a-test-id"]


def test_05_a_module_repeated_as_class_and_unsorted_lines_are_told(tmp_path: Path) -> None:
    text = f"test_e2e.py::test_chat {BUG}\nstress_test/stress_test.py::stress_test::test_run_stress {BUG}\n"
    ran = check_waives(tmp_path, text)
    assert ran.says("unknown-class", "'stress_test'", "did you mean stress_test/stress_test.py::test_run_stress?")
    assert ran.says("unsorted", "move it before line 1")


def test_06_a_line_appended_at_the_end_is_told_its_place_and_add_puts_it_there(tmp_path: Path) -> None:
    sorted_lines = f"accuracy/test_llm.py::TestLlama::test_bf16 {BUG}\ntest_e2e.py::test_chat {BUG}\n"
    late = f"cpp/test_unit_tests.py::test_unit_tests[kernels-90] {BUG}\n"
    ran = check_waives(tmp_path, sorted_lines + late)
    assert ran.says("waives.txt:3:1: unsorted", "move it after line 1")
    file = tmp_path / "waives.txt"
    file.write_text(sorted_lines)
    assert run("waives", "add", late.split()[0], "--bug", "6000001", "--file", str(file)).code == 0
    assert file.read_text().splitlines()[1] + "\n" == late


def test_07_one_test_under_two_bugs_is_a_conflict_that_names_both(tmp_path: Path) -> None:
    name = "accuracy/test_llm.py::TestLlama::test_bf16"
    ran = check_waives(tmp_path, f"{name} SKIP (https://nvbugs/1000001)\n{name} SKIP (https://nvbugs/1000002)\n")
    assert ran.says("waives.txt:2:1: conflict", "line 1", "bug 1000002 here and 1000001 there")


def test_08_a_folder_of_unit_tests_says_which_level_it_reaches(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"unittest/executor {BUG}\n")
    assert ran.code == 0  # here it holds; the note is about upstream
    assert ran.says("upstream-level (note)", "outer session", "inner session knows no folders")


def test_09_a_dropped_bug_and_a_changed_prefix_are_told(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("RTXPro6000D-PyTorch-1\nH100_PCIe-PyTorch-1\n")
    text = "full:sm_120/accuracy/test_llm.py::TestLlama::test_bf16 SKIP\n"
    ran = check_waives(tmp_path, text, "--stages", str(tmp_path / "stages"))
    assert ran.says("no-reason", "SKIP (https://nvbugs/<number>)")
    assert ran.says("dead-prefix", "full:sm_120/", "H100_PCIe, RTXPro6000D")


def test_10_a_name_that_is_no_node_id_is_refused(tmp_path: Path) -> None:
    for ids in (IDS, None):
        ran = check_waives(tmp_path, f"cache_transceiver_precheck[ctx_0] {BUG}\n", ids=ids)
        assert ran.codes == ["no-file"]


def test_11_a_waiver_that_lost_its_list_entry_is_shown(tmp_path: Path) -> None:
    (tmp_path / "l0_a.yml").write_text("l0_a:\n- condition:\n  tests:\n  - test_e2e.py\n")
    text = f"accuracy/test_llm.py::TestLlama::test_bf16 {BUG}\ntest_e2e.py::test_chat[model-a-fast] {BUG}\n"
    ran = check_waives(tmp_path, text, "--lists", str(tmp_path / "l0_a.yml"))
    assert ran.findings == [(1, "unlisted-waiver")]


def test_12_what_is_checked_is_the_merged_file(tmp_path: Path) -> None:
    """Alone each side is clean; together they waive one test twice. The merge shows that, not the next run."""
    name = "accuracy/test_llm.py::TestLlama::test_bf16"
    for side, text in (("base", ""), ("ours", "1000001"), ("theirs", "1000002")):
        (tmp_path / side).write_text(f"{name} SKIP (https://nvbugs/{text})\n" if text else "")
        assert not text or check_waives(tmp_path, (tmp_path / side).read_text()).code == 0
    sides = [str(tmp_path / side) for side in ("base", "ours", "theirs")]
    merged = tmp_path / "waives.txt"
    assert run("waives", "merge", *sides, "-o", str(merged)).code == 1
    assert "conflict-marker" in run("waives", "check", str(merged)).codes


def test_13_a_waiver_of_a_test_that_is_gone_is_found(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"accuracy/test_llm.py::TestLlama::test_int4_awq_long_gone {BUG}\n")
    assert ran.says("unknown-test", "accuracy/test_llm.py has no test 'TestLlama::test_int4_awq_long_gone'")


def test_14_a_stale_waiver_with_a_gpu_prefix_is_found_too(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, f"full:H20/accuracy/test_llm.py::TestGone::test_fp8 {BUG}\n")
    assert ran.says("waives.txt:1:10: unknown-class", "'TestGone'")


def test_15_waivers_of_closed_bugs_are_listed_with_the_day(tmp_path: Path) -> None:
    (tmp_path / "bugs.csv").write_text(
        "Bug ID,State,Closed On\n6000001,Closed - Fixed,2026-03-01\n6000002,Open,\n"
    )
    text = f"test_e2e.py::test_chat {BUG}\nunittest/executor SKIP (https://nvbugs/6000002)\n"
    ran = check_waives(tmp_path, text, "--bug-states", str(tmp_path / "bugs.csv"), "--ignore", "upstream-*")
    assert ran.findings == [(1, "closed-bug")]
    assert ran.says("bug 6000001 is Closed - Fixed since 2026-03-01")


def test_16_a_waiver_is_removed_on_evidence_and_not_on_a_guess(tmp_path: Path) -> None:
    (tmp_path / "waives.txt").write_text(f"test_e2e.py::test_chat[model-a-fast] {BUG}\n")
    case = '<testcase classname="test_e2e" name="test_chat[model-a-fast]" time="1"/>'
    (tmp_path / "junit.xml").write_text(f'<testsuite name="H100-PyTorch-1">{case}</testsuite>')
    arguments = ["--results", str(tmp_path / "junit.xml"), "--file", str(tmp_path / "waives.txt")]
    ran = run("waives", "prune", *arguments)
    assert "90" in ran.out  # one clean run is none: so many are needed
    assert (tmp_path / "waives.txt").read_text().startswith("test_e2e.py")


def test_17_one_command_removes_a_test_for_every_prefix(tmp_path: Path) -> None:
    name = "accuracy/test_llm.py::TestLlama::test_bf16"
    text = "".join(f"full:{head}/{name} {BUG}\n" for head in ("A100", "B200", "H100")) + f"test_e2e.py {BUG}\n"
    (tmp_path / "waives.txt").write_text(text)
    assert run("waives", "remove", name, "--file", str(tmp_path / "waives.txt")).code == 0
    assert (tmp_path / "waives.txt").read_text() == f"test_e2e.py {BUG}\n"


def test_18_diff_tells_removed_from_added_waivers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"a.py::t {BUG}\nb.py::t {BUG}\n")
    (tmp_path / "b.txt").write_text(f"b.py::t SKIP (https://nvbugs/6000002)\nc.py::t {BUG}\n")
    ran = run("waives", "diff", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert ran.code == 1
    assert ran.says("removed", "a.py::t") or "a.py::t" in ran.out
    for name in ("a.py::t", "b.py::t", "c.py::t"):
        assert name in ran.out


def test_19_a_waiver_that_main_removed_is_not_brought_back_by_a_merge(tmp_path: Path) -> None:
    keep, fixed, new = f"a.py::t {BUG}\n", f"b.py::t {BUG}\n", f"c.py::t {BUG}\n"
    assert _merged(tmp_path, keep + fixed, ours=keep, theirs=keep + fixed + new) == keep + new


def test_20_a_moved_line_is_no_removed_line(tmp_path: Path) -> None:
    one, two = f"a.py::t {BUG}\n", f"b.py::t {BUG}\n"
    assert _merged(tmp_path, two + one, ours=one + two, theirs=two + one) == one + two


def test_21_a_release_branch_takes_over_what_main_added(tmp_path: Path) -> None:
    release, main_only = f"a.py::t {BUG}\n", f"b.py::t {BUG}\n"
    assert _merged(tmp_path, "", ours=release, theirs=main_only) == release + main_only


def test_22_a_context_spelt_unlike_its_file_is_an_error(tmp_path: Path) -> None:
    ran = check_lists(tmp_path, "l0_h10:\n- condition:\n  tests:\n  - test_e2e.py\n")
    assert ran.says("l0_h100.yml:1:1: wrong-context", "'l0_h10'", "'l0_h100'")
    rendered = run("lists", "render", "--test-db", str(tmp_path / "l0_h100.yml"), "--context", "l0_h100")
    assert rendered.code == 2
    assert "did you mean l0_h10?" in rendered.err


def test_23_conflict_markers_in_a_list_have_a_line(tmp_path: Path) -> None:
    text = "l0_h100:\n- condition:\n  tests:\n<<<<<<< HEAD\n  - a.py\n=======\n  - b.py\n>>>>>>> theirs\n"
    ran = check_lists(tmp_path, text)
    assert ran.findings == [(4, "conflict-marker"), (6, "conflict-marker"), (8, "conflict-marker")]


def test_24_a_case_that_stands_twice_in_a_list_is_found(tmp_path: Path) -> None:
    text = "l0_h100:\n- condition:\n  tests:\n" + 2 * "  - perf/test_perf.py::test_perf[a]\n"
    assert check_lists(tmp_path, text).says("l0_h100.yml:5:5: repeated-entry", "line 4")


def test_25_two_spellings_of_timeout_are_told(tmp_path: Path) -> None:
    text = (
        "l0_h100:\n- condition:\n  tests:\n  - a.py TIMEOUT(120)\n  - b.py TIMEOUT (120)\n  - c.py TIMEOUT (60)\n"
    )
    ran = check_lists(tmp_path, text)
    assert ran.findings == [(4, "timeout-spelling"), (6, "default-timeout")]
    assert ran.says("write TIMEOUT (120)")


def test_26_a_renamed_parameter_is_found_in_prefixed_waivers_and_rename_corrects_them(tmp_path: Path) -> None:
    text = f"full:B200/test_e2e.py::test_chat[model-b-fast] {BUG}\n"
    ran = check_waives(tmp_path, text)
    assert ran.says("unknown-parameter", "'[model-b-fast]'", "did you mean test_e2e.py::test_chat[model-a-fast]")
    old, new = "test_e2e.py::test_chat[model-b-fast]", "test_e2e.py::test_chat[model-a-fast]"
    assert run("waives", "rename", old, new, "--lists", str(tmp_path / "waives.txt")).code == 0
    assert run("waives", "check", str(tmp_path / "waives.txt"), "--tests", str(tmp_path / "ids.txt")).code == 0


def test_27_every_path_of_a_line_with_many_is_checked(tmp_path: Path) -> None:
    ran = check_waives(
        tmp_path, f"full:B200/unittest/executor unittest/gone unittest/executor/test_old.py {BUG}\n"
    )
    assert ran.says("waives.txt:1:29: unknown-folder", "unittest/gone")
    assert ran.says("waives.txt:1:43: unknown-file", "test_old.py")


def test_28_a_copy_of_what_main_has_already_is_redundant(tmp_path: Path) -> None:
    name = "accuracy/test_llm.py::TestLlama::test_bf16"
    ran = check_waives(tmp_path, f"{name} {BUG}\n{name} {BUG}\nfull:H20/{name} {BUG}\n")
    assert ran.findings == [(2, "duplicate"), (3, "redundant")]


def test_29_what_cannot_be_verified_is_told_apart_from_what_is_wrong(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('x', make())\ndef test_a(x): pass\ndef test_b(): pass\n"
    (tmp_path / "test_m.py").write_text(source)
    text = f"test_m.py::test_a[1] {BUG}\ntest_m.py::test_c {BUG}\n"
    ran = check_waives(tmp_path, text, "--source", str(tmp_path), ids=None)
    assert ran.findings == [(2, "unknown-test"), (1, "unverifiable")]
    assert check_waives(tmp_path, text.splitlines()[0], "--source", str(tmp_path), ids=None).code == 0


def test_30_one_reading_of_isolation_serves_checks_and_lists_alike(tmp_path: Path) -> None:
    text = "a.py::t ISOLATION,TIMEOUT (90)\nb.py::t ISOLATION, TIMEOUT (90)\nc.py::t TIMEOUT (90) ISOLATION\n"
    ran = check_lists(tmp_path, text, name="flat.txt")
    assert ran.code == 0
    assert [line for line, code in ran.findings if code == "upstream-reading"][:1] == [1]
    assert ran.says("flat.txt:1:1: upstream-reading (note)", "it loses TIMEOUT")


def _merged(folder: Path, base: str, *, ours: str, theirs: str) -> str:
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_text(text)
    assert run("waives", "merge", *(str(folder / name) for name in ("base", "ours", "theirs"))).code == 0
    return (folder / "ours").read_text()
