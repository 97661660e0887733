"""Words that stay apart in every report, and waivers that are no longer needed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from harness.lists import read_waives
from harness.lists.edits.evidence import gather
from harness.results.log import read_log

PLUGINS = ("-p", "harness.pytest_plugin", "-p", "harness.pytest_plugin.options", "-p", "no:cacheprovider")
TESTS = """
import pytest

def test_plain(): pass
def test_waived(): assert False
def test_waived_too(): pass
def test_unstable(): assert False
def test_fixed(): pass
def test_skipped(): pytest.skip("not today")
def test_unsupported(): pytest.skip("unsupported: needs 8 GPUs")
def test_left_out(): pass
"""
WAIVES = """# a heading

# why this one
test_a.py::test_fixed XFAIL (https://nvbugs/3)
test_a.py::test_unstable UNSTABLE (https://nvbugs/2)
test_a.py::test_waived SKIP (https://nvbugs/1)
test_a.py::test_waived_too SKIP (https://nvbugs/1)
"""
LIST = "".join(f"test_a.py::{name}\n" for name in re.findall(r"test_\w+", TESTS) if name != "test_left_out")


@pytest.fixture
def tree(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_a=TESTS)
    (pytester.path / "waives.txt").write_text(WAIVES)
    (pytester.path / "list.txt").write_text(LIST)
    return pytester


def run(tree: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return tree.runpytest_subprocess(*PLUGINS, "--waives-file", "waives.txt", *arguments)


def words(path: Path) -> dict[str, str]:
    log = read_log(path)
    assert log is not None
    return {result.id.partition("::")[2]: result.outcome.value for result in log.results.values()}


def test_five_words_stay_apart_in_terminal_log_and_junit(tree: pytest.Pytester) -> None:
    listed = ("--test-list", "list.txt", "--results", "r.jsonl", "--no-confirm")
    result = run(tree, "-v", *listed)
    for name, word in (("waived", "WAIVED"), ("skipped", "SKIPPED"), ("unsupported", "UNSUPPORTED")):
        result.stdout.fnmatch_lines([f"test_a.py::test_{name} {word}*"])
    summary = next(line for line in result.outlines if re.search(r" in [0-9.]+s", line))
    for count in ("1 skipped", "1 deselected", "2 waived", "1 unsupported", "1 unstable-failed"):
        assert count in summary
    assert words(tree.path / "r.jsonl") == {
        "test_plain": "passed",
        "test_waived": "waived",
        "test_waived_too": "waived",
        "test_unstable": "unstable-failed",
        "test_fixed": "fixed",
        "test_skipped": "skipped",
        "test_unsupported": "unsupported",
    }
    junit = (tree.path / "r.xml").read_text()
    for word in ("waived", "skipped", "unsupported", "fixed", "unstable-failed"):
        assert f"outcome: {word}" in junit
    assert 'name="tests deselected" value="1"' in junit
    again = run(tree, *listed, "--resume")
    again.stdout.fnmatch_lines(["7 reused from the log*"])


def test_a_fixed_waiver_fails_with_the_patch_that_takes_it_out(tree: pytest.Pytester) -> None:
    result = run(tree)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*[[]XPASS(strict)[]]*it passes: remove the waiver at waives.txt:4"])
    lines = result.outlines
    begin = max(i for i, line in enumerate(lines) if line == "--- a/waives.txt")
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith("="))
    (tree.path / "fix.patch").write_text("\n".join(lines[begin:end]) + "\n")
    subprocess.run(["git", "apply", "fix.patch"], cwd=tree.path, check=True)
    assert (tree.path / "waives.txt").read_text() == WAIVES.replace(
        "# why this one\ntest_a.py::test_fixed XFAIL (https://nvbugs/3)\n", ""
    )


def test_a_wide_waiver_says_that_it_covers_more_than_what_passed(tree: pytest.Pytester) -> None:
    (tree.path / "waives.txt").write_text("test_a.py XFAIL (https://nvbugs/3)\n")
    run(tree, "-k", "plain").stdout.fnmatch_lines(["*waives.txt:1 (as whole file: look at its other tests first)"])


@pytest.mark.parametrize("junit", [(), ("--junit-xml=p.xml",)], ids=["from the log", "pytest's own option"])
def test_what_waived_tests_did_is_evidence_for_pruning(tree: pytest.Pytester, junit: tuple[str, ...]) -> None:
    result = run(tree, "--run-waived", "--results", "r.jsonl", "--test-prefix", "H100-PyTorch-1", *junit)
    assert result.ret == pytest.ExitCode.OK
    summary = next(line for line in result.outlines if re.search(r" in [0-9.]+s", line))
    assert "2 waived-passed" in summary
    assert "2 waived-failed" in summary
    waivers = read_waives(tree.path / "waives.txt").waivers
    evidence = gather(waivers, [str(tree.path / ("p.xml" if junit else "r.xml"))])
    found = {
        waivers[i].test.text: (tally.clean, tally.failed)
        for i, heads in evidence.items()
        for tally in heads.values()
    }
    assert found == {
        "test_a.py::test_fixed": (1, 0),
        "test_a.py::test_unstable": (0, 1),
        "test_a.py::test_waived": (0, 1),
        "test_a.py::test_waived_too": (1, 0),
    }
    assert {head for heads in evidence.values() for head in heads} == {"H100"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--test-list", "k.txt"),
            "the -k and -m of the list's entries leave no test: k.txt:1:1 'test_a.py -k nothing'",
        ),
        (
            ("--test-list", "list.txt", "-k", "left_out"),
            "pytest's own -k, -m or --deselect leaves no test that the list",
        ),
        (("--shard", "9/9"), "--shard 9/9 has no test: there are more shards than tests"),
    ],
)
def test_an_empty_selection_names_what_emptied_it(
    tree: pytest.Pytester, arguments: tuple[str, ...], told: str
) -> None:
    (tree.path / "k.txt").write_text("test_a.py -k nothing\n")
    result = tree.runpytest_inprocess(*PLUGINS, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()


def test_all_unknown_names_are_told_with_what_was_meant(tree: pytest.Pytester) -> None:
    (tree.path / "l.txt").write_text("test_a.py::test_plian\ntest_a.py::test_fixt\n")
    for mode in ((), ("-n", "2")):
        result = tree.runpytest_inprocess(*PLUGINS, "--test-list", "l.txt", *mode)
        text = result.stderr.str() + result.stdout.str()
        assert result.ret == pytest.ExitCode.USAGE_ERROR, text
        assert "'test_a.py::test_plian'; nearest: test_a.py::test_plain" in text
        assert "'test_a.py::test_fixt'; nearest: test_a.py::test_fixed" in text


def test_the_log_names_waiver_and_bug(tree: pytest.Pytester) -> None:
    run(tree, "--results", "r.jsonl", "--no-confirm")
    lines = [json.loads(line) for line in (tree.path / "r.jsonl").read_text().splitlines()]
    waived = next(
        line for line in lines if line.get("id") == "test_a.py::test_waived" and line["kind"] == "result"
    )
    assert waived["bugs"] == ["https://nvbugs/1"]
    assert waived["waiver_place"] == "waives.txt:6"
