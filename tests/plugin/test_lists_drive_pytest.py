"""`--test-list`, `--waives-file` and their company, on small trees of their own."""

from __future__ import annotations

import re

import pytest

PLUGINS = ("-p", "harness.pytest_plugin", "-p", "harness.pytest_plugin.options")
TESTS = """
    import pytest

    def test_plain(): pass
    def test_broken(): assert False
    @pytest.mark.parametrize("size", [1, 2])
    def test_sized(size): pass
    class TestGroup:
        @pytest.mark.gpu2
        def test_inside(self): pass
        def test_other(self): pass
"""
DATABASE = """
    version: 0.0.1
    l0_x:
    - condition:
        ranges: {system_gpu_count: {gte: 1, lte: 1}}
        wildcards: {gpu: ['*h100*']}
        terms: {stage: pre_merge}
      tests:
      - test_a.py::test_sized[2]
      - test_a.py::test_plain TIMEOUT (7)
    - condition:
        terms: {stage: post_merge}
      tests:
      - test_a.py::TestGroup
"""


@pytest.fixture
def tree(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_a=TESTS)
    pytester.makeini("[pytest]\nmarkers = gpu2: two GPUs")
    return pytester


def run(tree: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return tree.runpytest_inprocess(*PLUGINS, "-p", "no:cacheprovider", *arguments)


def counts(result: pytest.RunResult) -> dict[str, int]:
    """What the last line of the report counts, by word."""
    last = next(line for line in reversed(result.outlines) if re.search(r" in [0-9.]+s", line))
    return {word: int(count) for count, word in re.findall(r"(\d+) ([a-z][a-z-]+)", last.partition(" in ")[0])}


def ran(result: pytest.RunResult) -> list[str]:
    return [line.split()[0].partition("::")[2] for line in result.outlines if "::" in line and "PASSED" in line]


def test_a_flat_list_selects_in_its_own_order(tree: pytest.Pytester) -> None:
    tree.maketxtfile(order="test_a.py::test_sized[2]\ntest_a.py::test_plain # quick\n")
    result = run(tree, "-v", "--test-list", "order.txt")
    assert ran(result) == ["test_sized[2]", "test_plain"]
    result.assert_outcomes(passed=2, deselected=4)


def test_a_database_selects_the_blocks_whose_conditions_hold(tree: pytest.Pytester) -> None:
    tree.makefile(".yml", l0_x=DATABASE)
    facts = "gpu=NVIDIA H100 PCIe,system_gpu_count=1,stage=pre_merge"
    assert ran(run(tree, "-v", "--test-list", "l0_x.yml", "--match", facts)) == ["test_sized[2]", "test_plain"]
    later = ran(
        run(tree, "-v", "--test-list", "l0_x.yml", "--context", "l0_x", "--match", "stage=post_merge,gpu=a30")
    )
    assert later == ["TestGroup::test_inside", "TestGroup::test_other"]


def test_an_empty_selection_says_which_condition_removed_everything(tree: pytest.Pytester) -> None:
    tree.makefile(".yml", l0_x=DATABASE)
    result = run(tree, "--test-list", "l0_x.yml", "--match", "gpu=A30,stage=pre_merge,system_gpu_count=1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*context l0_x selects no test: the block at line * fails because *gpu*"])


def test_an_unknown_context_or_name_is_an_error_with_the_nearest(tree: pytest.Pytester) -> None:
    tree.makefile(".yml", l0_x=DATABASE)
    result = run(tree, "--test-list", "l0_x.yml", "--context", "l0_y", "--match", "a=b")
    result.stderr.fnmatch_lines(["*no context 'l0_y'; did you mean l0_x?*"])
    tree.maketxtfile(order="test_a.py::test_plian\ntest_a.py::test_plain\n")
    result = run(tree, "--test-list", "order.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*order.txt:1:1: no collected test is named*nearest: test_a.py::test_plain*"])
    run(tree, "--test-list", "order.txt", "--allow-unknown").assert_outcomes(passed=1, deselected=5)


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ('test_a.py -k "sized and not 1"', ["test_sized[2]"]),
        ('test_a.py -k "plain or GROUP"', ["test_plain", "TestGroup::test_inside", "TestGroup::test_other"]),
        ('test_a.py -m "gpu2"', ["TestGroup::test_inside"]),
        ('test_a.py::TestGroup -m "not gpu2"', ["TestGroup::test_other"]),
        ("test_a.py::TestGroup", ["TestGroup::test_inside", "TestGroup::test_other"]),
        ("test_a.py::test_sized", ["test_sized[1]", "test_sized[2]"]),
    ],
)
def test_an_entry_selects_by_level_keyword_and_mark(tree: pytest.Pytester, entry: str, names: list[str]) -> None:
    tree.maketxtfile(order=entry)
    assert ran(run(tree, "-v", "--test-list", "order.txt")) == names


@pytest.mark.parametrize("expression", ["sized and", "(sized", "sized plain", "not", "a ) b", "size$d"])
def test_an_expression_that_cannot_be_read_is_an_error(tree: pytest.Pytester, expression: str) -> None:
    tree.maketxtfile(order=f'test_a.py -k "{expression}"')
    result = run(tree, "--test-list", "order.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "order.txt:1:" in result.stderr.str()


def test_a_timeout_of_the_list_reaches_the_test(tree: pytest.Pytester) -> None:
    tree.makefile(".yml", l0_x=DATABASE)
    tree.makeconftest(
        """
        def pytest_collection_finish(session):
            for item in session.items:
                print("LIMIT", item.name, [mark.args for mark in item.iter_markers("timeout")])
        """
    )
    result = run(tree, "-s", "--test-list", "l0_x.yml", "--match", "stage=pre_merge,gpu=h100")
    result.stdout.fnmatch_lines(["LIMIT test_plain [[](420,)[]]"])


@pytest.mark.parametrize(
    ("waiver", "outcome", "status"),
    [
        ("test_a.py::test_broken SKIP (https://nvbugs/1)", {"waived": 1, "passed": 5}, 0),
        ("test_a.py::test_broken XFAIL (https://nvbugs/1)", {"expected": 1, "passed": 5}, 0),
        ("test_a.py::test_broken UNSTABLE (https://nvbugs/1)", {"unstable-failed": 1, "passed": 5}, 0),
        ("test_a.py::test_plain UNSTABLE (https://nvbugs/1)", {"unstable-passed": 1, "passed": 4, "failed": 1}, 1),
        ("test_a.py::test_plain XFAIL (https://nvbugs/1)", {"passed": 4, "failed": 2}, 1),
        ("test_a.py SKIP (https://nvbugs/1)", {"waived": 6}, 0),
        ("full:H100/test_a.py::test_broken SKIP (https://nvbugs/1)", {"passed": 5, "failed": 1}, 1),
    ],
)
def test_a_waiver_does_what_its_marker_says(
    tree: pytest.Pytester, waiver: str, outcome: dict[str, int], status: int
) -> None:
    tree.maketxtfile(waives=waiver)
    result = run(tree, "--waives-file", "waives.txt")
    assert counts(result) == outcome
    assert result.ret == status


def test_a_prefixed_waiver_reaches_its_stage(tree: pytest.Pytester) -> None:
    tree.maketxtfile(waives="full:H100/test_a.py::test_broken SKIP (https://nvbugs/1)")
    result = run(tree, "-rs", "--waives-file", "waives.txt", "--test-prefix", "H100-PyTorch-1")
    assert counts(result) == {"waived": 1, "passed": 5}
    result.stdout.fnmatch_lines(["WAIVED test_a.py::test_broken: waived: https://nvbugs/1 [[]waives.txt:1*"])


def test_run_waived_runs_them_and_none_fails_the_run(tree: pytest.Pytester) -> None:
    tree.maketxtfile(waives="test_a.py SKIP (https://nvbugs/1)")
    result = run(tree, "--waives-file", "waives.txt", "--run-waived")
    assert counts(result) == {"waived-passed": 5, "waived-failed": 1}
    assert result.ret == 0


def test_a_broken_waiver_line_stops_the_run_with_its_place(tree: pytest.Pytester) -> None:
    tree.maketxtfile(waives="test_a.py::test_plain SKIP (https://nvbugs/1)\ntest_a.py::test_broken SKIP because")
    result = run(tree, "--waives-file", "waives.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "waives.txt:2:" in result.stderr.str()


def test_in_another_tree_the_hooks_read_that_trees_own_options(tree: pytest.Pytester) -> None:
    tree.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--test-list")
            parser.addoption("--waives-file")
            parser.addoption("--test-prefix")
        """
    )
    tree.maketxtfile(order="test_a.py::test_broken", waives="test_a.py::test_broken SKIP (https://nvbugs/1)")
    arguments = ("-p", "harness.pytest_plugin", "--test-list", "order.txt", "--waives-file", "waives.txt")
    assert counts(tree.runpytest_inprocess(*arguments)) == {"waived": 1, "deselected": 5}


def test_without_options_nothing_changes(tree: pytest.Pytester) -> None:
    run(tree).assert_outcomes(passed=5, failed=1)


def test_a_bug_with_its_fault_is_one_red_entry_with_a_matrix(tree: pytest.Pytester) -> None:
    tree.makepyfile(
        test_a="""
        from dataclasses import replace
        from harness import launch

        def test_bug(check_bug, monkeypatch):
            original = launch.Launcher._job
            faulty = lambda self, i, run: original(self, i, replace(run, faults=("capacity-from-bucket",)))
            monkeypatch.setattr(launch.Launcher, "_job", faulty)
            check_bug("6535874", "dflash", "exact")
        """
    )
    result = run(tree, "-p", "harness.pytest_plugin.fixtures")
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*5>4>2>1 *ok *ok", "*1>2>4>5 *ok *FAIL", "I-CAP:capacity:slots: 18 cases*"])


@pytest.mark.parametrize("results", [(), ("--results=r.jsonl",)], ids=["alone", "supervised"])
def test_a_device_that_is_not_there_is_said_once(
    tree: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, results: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    tree.makepyfile(
        test_a="""
        def test_one(check_bug): check_bug("6535874", "dflash", "exact")
        def test_two(check_bug): check_bug("6535874", "dspark", "exact")
        """
    )
    plugins = [word for name in ("", ".options", ".fixtures") for word in ("-p", f"harness.pytest_plugin{name}")]
    result = tree.runpytest_subprocess(*plugins, "-p", "no:cacheprovider", "--device=cuda", *results)
    assert result.ret == 3
    assert str(result.stdout).count("no CUDA device is visible") == 1
