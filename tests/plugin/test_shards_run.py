"""`--shard I/N` in pytest: together the shards are the selection, each test once."""

from __future__ import annotations

import json

import pytest

from harness.cli import main
from harness.results.log import Log, read_log

PLUGINS = ("run_options", "sharding", "recording")
TESTS = """
    import pytest
    @pytest.mark.parametrize("n", range(9))
    def test_short(n): pass
    @pytest.mark.xdist_group("one@gpu")
    @pytest.mark.parametrize("at", ["a@b", "c"])
    def test_long(at): pass
"""
NAMES = [
    *(f"test_a.py::test_short[{n}]" for n in range(9)),
    "test_a.py::test_long[a@b]",
    "test_a.py::test_long[c]",
]


@pytest.fixture
def tree(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_a=TESTS)
    seconds = {name: 5.0 if "long" in name else 1.0 for name in NAMES}
    (pytester.path / "d.json").write_text(json.dumps({"format": 1, "durations": seconds}))
    return pytester


OPTIONS = [word for name in PLUGINS for word in ("-p", f"harness.pytest_plugin.{name}")]


def run(tree: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return tree.runpytest_inprocess(*OPTIONS, "-p", "no:cacheprovider", *arguments)


def log_of(tree: pytest.Pytester, index: int) -> Log:
    log = read_log(tree.path / f"{index}.jsonl")
    assert log is not None
    return log


@pytest.mark.parametrize(
    "workers",
    [
        (),
        pytest.param(("-n", "2"), marks=pytest.mark.slow),
        pytest.param(("-n", "2", "--dist", "loadgroup"), marks=pytest.mark.slow),
    ],
    ids=["one process", "xdist", "groups"],
)
def test_shards_are_the_selection_and_merge_to_one_run(
    tree: pytest.Pytester, workers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for index in (1, 2, 3):
        shard = ("--shard", f"{index}/3", "--durations-file", "d.json", "--results", f"{index}.jsonl")
        assert run(tree, *shard, *workers).ret == 0
    parts = [set(log_of(tree, index).results) for index in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    lengths = [sum(5 if "long" in name else 1 for name in part) for part in parts]
    assert max(lengths) == 7  # two of 5 and nine of 1 in three: 6 each would leave one over
    plans = [log_of(tree, index).plan for index in (1, 2, 3)]
    assert {plan.sha256 for plan in plans if plan} == {plans[0].sha256 if plans[0] else ""}
    assert [plan.selected for plan in plans if plan] == [11, 11, 11]
    (tree.path / "list.txt").write_text("test_a.py::test_short\ntest_a.py::test_long\n")
    with pytest.raises(SystemExit) as left:
        main(["results", "merge", "1.jsonl", "2.jsonl", "3.jsonl", "--list", "list.txt", "--out", "all.jsonl"])
    assert (left.value.code, capsys.readouterr().out.splitlines()[-1]) == (
        0,
        "3 logs, 11 tests: 11 passed; 0 findings",
    )


def test_a_shard_keeps_the_order_of_what_was_selected_and_tells_the_rest_deselected(
    tree: pytest.Pytester,
) -> None:
    result = run(tree, "--shard", "2/2", "-v")
    shown = [line.split()[0] for line in result.outlines if "PASSED" in line]
    assert shown == [name for name in NAMES if name in shown]
    result.assert_outcomes(passed=len(shown), deselected=len(NAMES) - len(shown))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--shard", "3/2"), "--shard 3/2: expected I/N with I from 1 to N, such as 2/4"),
        (("--shard", "1/2", "--durations-file", "test_a.py"), "test_a.py: is no JSON*"),
        (("--durations-file", "none.json", "-n", "2"), "none.json: cannot be read: No such file or directory"),
    ],
)
def test_a_shard_that_cannot_be_planned_is_one_line_and_exit_code_2(
    tree: pytest.Pytester, arguments: tuple[str, ...], said: str
) -> None:
    result = tree.runpytest_subprocess(*OPTIONS, *arguments)
    assert result.ret == 2
    result.stderr.fnmatch_lines([f"Exit: harness: {said}"])
    assert "harness" not in result.stdout.str()


def test_more_shards_than_tests_leave_some_with_nothing_to_do(tree: pytest.Pytester) -> None:
    seen = [
        run(tree, "-k", "long", "--shard", f"{index}/3").parseoutcomes().get("passed", 0) for index in (1, 2, 3)
    ]
    assert sorted(seen) == [0, 1, 1]
