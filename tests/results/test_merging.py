"""Merging shards: accepted only when together they are the list, each test once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import make_log, result

from harness.errors import UsageError
from harness.results.log import Log, read_log
from harness.results.merging import Merged, merge
from harness.results.records import End, Header, Result, Word

ALL = ["a", "b", "c", "d"]


def anything(_: list[str]) -> Iterator[str]:
    yield from ()


def read(path: str) -> Log:
    log = read_log(Path(path))
    assert log is not None
    return log


def shards(tmp_path: Path, parts: list[list[str]], selected: list[str] = ALL, **header: Any) -> list[Log]:
    return [
        read(
            make_log(
                tmp_path / f"s{i}.jsonl",
                [result(test) for test in part],
                selected=selected,
                shard=f"{i}/{len(parts)}",
                machine=f"node{i}",
                **header,
            )
        )
        for i, part in enumerate(parts, start=1)
    ]


def results_of(merged: Merged) -> dict[str, Result]:
    return {record.id: record for record in merged.records if isinstance(record, Result)}


def test_shards_that_are_the_list_become_one_log_that_says_where_each_test_ran(tmp_path: Path) -> None:
    merged = merge(shards(tmp_path, [["a", "c"], ["b", "d"]]), anything)
    assert merged.findings == ()
    assert {name: one.host for name, one in results_of(merged).items()} == {
        "a": "node1",
        "c": "node1",
        "b": "node2",
        "d": "node2",
    }
    header = merged.records[0]
    assert isinstance(header, Header)
    assert (header.shard, header.machine) == ("", "node1 node2")


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.data())
def test_a_test_that_is_lost_or_runs_twice_never_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, where: list[int], data: st.DataObject
) -> None:
    parts: list[list[str]] = [[], [], []]
    for test, place in zip(ALL, where, strict=True):
        parts[place].append(test)
    folder = tmp_path_factory.mktemp("merge")
    assert merge(shards(folder, parts), anything).findings == ()
    test = data.draw(st.sampled_from(ALL))
    if data.draw(st.booleans()):
        broken = [[name for name in part if name != test] for part in parts]
        expected = "the shards were to run 3 of 4 selected tests"
    else:
        home = where[ALL.index(test)]
        broken = [[*part, test] if place == (home + 1) % 3 else part for place, part in enumerate(parts)]
        expected = f"{test} has 2 results"
    findings = merge(shards(tmp_path_factory.mktemp("merge"), broken), anything).findings
    assert [finding for finding in findings if expected in finding]


def test_tests_of_other_shards_are_not_deselected_in_the_whole_run(tmp_path: Path) -> None:
    logs = shards(tmp_path, [["a", "c", "d"], ["b"]], deselected=8)
    end = merge([logs[0]], anything).records[-1]
    assert isinstance(end, End)
    assert end.counts == {"passed": 3, "deselected": 7}  # 8 less the one that the other shard has


def test_what_a_shard_was_to_run_and_did_not_is_named(tmp_path: Path) -> None:
    first = make_log(tmp_path / "1.jsonl", [result("a")], plan=["a", "b"], selected=ALL, shard="1/2", end=False)
    second = make_log(tmp_path / "2.jsonl", [result("c"), result("d")], selected=ALL, shard="2/2")
    findings = merge([read(first), read(second)], anything).findings
    assert findings == (f"{first}: b has no result; resume it",)


def test_a_shard_that_is_not_given_or_given_twice_is_named(tmp_path: Path) -> None:
    logs = shards(tmp_path, [["a", "b"], ["c"], ["d"]])
    assert merge(logs[:2], anything).findings == ("shard 3/3 is missing: no log of it was given",)
    twice = merge([*logs, logs[2]], anything).findings
    assert [finding.partition(":")[0] for finding in twice] == ["d has 2 results"]


def test_a_file_that_could_not_be_collected_means_that_tests_are_missing(tmp_path: Path) -> None:
    broken = replace(result("test_x.py", Word.ERROR), phase="collect")
    log = make_log(tmp_path / "1.jsonl", [result("a"), broken], plan=["a"], shard="1/1")
    assert "test_x.py could not be collected" in merge([read(log)], anything).findings[0]


def test_what_the_list_says_of_the_tests_is_among_the_findings(tmp_path: Path) -> None:
    merged = merge(shards(tmp_path, [["a", "b", "c", "d"]]), lambda tests: iter([f"unlisted: {' '.join(tests)}"]))
    assert merged.findings == ("unlisted: a b c d",)


@pytest.mark.parametrize("name", ["list_sha256", "durations_sha256", "commit", "context", "match"])
def test_shards_of_different_runs_are_refused(tmp_path: Path, name: str) -> None:
    first = make_log(tmp_path / "1.jsonl", [result("a")], selected=["a", "b"], shard="1/2")
    differing: dict[str, Any] = {name: "other"}
    other = make_log(tmp_path / "2.jsonl", [result("b")], selected=["a", "b"], shard="2/2", **differing)
    with pytest.raises(UsageError, match=r"2.jsonl: its run and that of .*1.jsonl had different"):
        merge([read(first), read(other)], anything)


def test_shards_of_different_numbers_or_different_trees_are_not_one_run(tmp_path: Path) -> None:
    first = make_log(tmp_path / "1.jsonl", [result("a")], selected=["a", "b"], shard="1/2")
    other = make_log(tmp_path / "2.jsonl", [result("b")], selected=["a", "b"], shard="2/3")
    with pytest.raises(UsageError, match="is one of 3 shards"):
        merge([read(first), read(other)], anything)
    third = make_log(tmp_path / "3.jsonl", [result("c")], selected=["a", "c"], shard="2/2")
    assert "selected different tests" in merge([read(first), read(third)], anything).findings[-1]


def test_the_merged_run_is_the_same_run_however_the_logs_are_given(tmp_path: Path) -> None:
    logs = shards(tmp_path, [["a", "b"], ["c", "d"]])
    one, other = merge(logs, anything).records[0], merge(logs[::-1], anything).records[0]
    assert isinstance(one, Header)
    assert isinstance(other, Header)
    assert one.run == other.run
