"""Our hooks in a tree with options and hooks of its own, as TensorRT-LLM's integration tests have them."""

from __future__ import annotations

import re

import pytest

from harness.results.log import read_log

# The contract of that tree: its options' names, the stage in front of every id, its own selection and waivers.
CONFTEST = """
import re
import pytest

def pytest_addoption(parser):
    parser.addoption("--test-list", "-F", action="store", default=None)
    parser.addoption("--waives-file", "-S", action="store", default=None)
    parser.addoption("--test-prefix", "-P", action="store", default=None)
    parser.addoption("--apply-test-list-correction", "-C", action="store_true")

def named(path, prefix):
    found = {}
    for line in open(path):
        line = line.partition("#")[0].strip()
        marker = re.search(" (SKIP|XFAIL|TIMEOUT|ISOLATION)", line)
        name = line[:marker.start()] if marker else line
        if name.startswith("unittest/"):
            name = f"test_unittests.py::test_unittests_v2[{name}]"
        if name:
            found[f"{prefix}/{name}" if prefix else name] = marker and marker.group(1)
    return found

def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        lines = open(metafunc.config.getoption("--test-list")).read().splitlines()
        metafunc.parametrize("case", [line for line in lines if line.startswith("unittest/")])

def pytest_collection_modifyitems(session, config, items):
    prefix = config.getoption("--test-prefix")
    if prefix:
        for item in items:
            item._id = f"{prefix}/{item.nodeid}"  # where this pytest keeps it; there is no public way
    names = named(config.getoption("--test-list"), prefix)
    order = list(names)
    items[:] = sorted((item for item in items if item.nodeid in names), key=lambda item: order.index(item.nodeid))
    waives = config.getoption("--waives-file")
    for item in items if waives else ():
        if named(waives, prefix).get(item.nodeid) == "SKIP":
            item.add_marker(pytest.mark.skip(reason="theirs"))
"""
FILES = {
    "test_e2e": """
        def test_one(): pass
        def test_two(): pass
        def test_three(): assert False
        def test_other(): pass
    """,
    "test_unittests": "def test_unittests_v2(case): assert case\n",
}
LIST = """test_e2e.py::test_two
test_e2e.py::test_one ISOLATION
unittest/_torch/modeling -k "llama"
test_e2e.py::test_three
"""
WAIVES = """full:H100_PCIe/test_e2e.py::test_two SKIP (https://nvbugs/1)
test_e2e.py::test_three SKIP (https://nvbugs/2)
unittest/_torch/modeling -k "llama" SKIP (https://nvbugs/3)
"""


@pytest.fixture
def tree(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(**FILES)
    pytester.makeconftest(CONFTEST)
    (pytester.path / "list.txt").write_text(LIST)
    (pytester.path / "waives.txt").write_text(WAIVES)
    return pytester


def words(tree: pytest.Pytester) -> dict[str, str]:
    log = read_log(tree.path / "r.jsonl")
    assert log is not None
    return {re.sub(r".*::", "", result.id): result.outcome.value for result in log.results.values()}


@pytest.mark.parametrize(
    ("prefix", "waived"),
    [((), "passed"), (("--test-prefix", "H100_PCIe-PyTorch-1"), "waived")],
    ids=["no stage", "H100"],
)
def test_lists_waivers_and_stage_of_that_tree_are_read(
    tree: pytest.Pytester, prefix: tuple[str, ...], waived: str
) -> None:
    arguments = ("-p", "harness.pytest_plugin", "--results", "r.jsonl", "--test-list", "list.txt")
    result = tree.runpytest_subprocess(*arguments, "--waives-file", "waives.txt", *prefix)
    assert result.ret == pytest.ExitCode.OK
    assert words(tree) == {
        "test_two": waived,
        "test_one": "passed",
        'test_unittests_v2[unittest/_torch/modeling -k "llama"]': "waived",
        "test_three": "waived",
    }
    result.stdout.fnmatch_lines(["harness: *test_e2e.py::test_one in a process of its own: passed"])


def test_run_options_alone_bring_results_to_such_a_tree(tree: pytest.Pytester) -> None:
    arguments = ("-p", "harness.pytest_plugin", "--shard", "1/2", "--test-list", "list.txt")
    tree.runpytest_inprocess(*arguments).assert_outcomes(passed=2, deselected=2)


def test_our_own_options_beside_that_trees_would_collide(tree: pytest.Pytester) -> None:
    result = tree.runpytest_inprocess("-p", "harness.pytest_plugin.options", "--test-list", "list.txt")
    assert result.ret != pytest.ExitCode.OK
