"""What is written reads back the same, and what cannot be read names its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from drawn import operations, scenarios
from hypothesis import given
from hypothesis import strategies as st

from harness.codec import CodecError, decode, dumps
from harness.errors import UsageError
from harness.protocol import End, Layout, Reply, Request, changes, with_changes
from harness.scenario import Admit, Config, Operation, Scenario, Step
from harness.scenario_file import dump_scenario, read_scenario, write_scenario
from harness.trace import (
    Event,
    EventKind,
    GraphInput,
    MetadataField,
    Outcome,
    Pool,
    RequestState,
    Snapshot,
    Violation,
)

_WORDS = st.sampled_from(["a", "worker.ctx", "r0", ""])
_INTS = st.integers(-(2**63), 2**63 - 1)
_SOME = st.lists(_INTS, max_size=4).map(tuple)

states = st.builds(
    RequestState, _INTS, _SOME, _INTS, _SOME, st.lists(st.floats(0, 1), max_size=3).map(tuple),
    verified=st.none() | _INTS, generation=st.none() | _INTS, state=st.none() | _INTS,
)  # fmt: skip
pools = st.builds(
    Pool, _WORDS, _INTS, st.none() | _INTS, st.dictionaries(_WORDS, _INTS), _SOME, _SOME,
    unit=st.sampled_from(["seat", "page"]), holdings=st.dictionaries(_WORDS, _SOME), generations=_SOME,
)  # fmt: skip
told = st.lists(_WORDS, max_size=2).map(tuple)
metadata_fields = st.builds(MetadataField, _WORDS, st.sampled_from(["shared", "owned"]), told, st.none() | told)
events = st.builds(Event, st.sampled_from(EventKind), _WORDS, _WORDS, st.none() | _INTS, _WORDS)
violations = st.builds(Violation, _WORDS, _WORDS, _WORDS, _INTS, _WORDS, _WORDS, _WORDS, st.none() | _INTS)
inputs = st.builds(GraphInput, _WORDS, _INTS, _WORDS, _SOME, _SOME)


def _unique(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3, unique_by=lambda item: item.name).map(tuple)


snapshots = st.builds(
    Snapshot, _INTS, st.just(()), _unique(pools), _unique(inputs), st.dictionaries(_WORDS, states),
    st.dictionaries(_WORDS, _INTS), st.lists(_WORDS, max_size=3).map(tuple), _INTS, st.none() | _INTS,
    st.lists(events, max_size=2).map(tuple), st.lists(violations, max_size=2).map(tuple),
    st.dictionaries(_WORDS, _INTS), st.dictionaries(_WORDS, _INTS), _unique(metadata_fields),
)  # fmt: skip


@given(scenarios())
def test_a_legal_scenario_written_to_a_file_reads_back_the_same(tmp_path_factory: Any, scenario: Scenario) -> None:
    path: Path = tmp_path_factory.mktemp("scenario") / "scenario.yml"
    write_scenario(scenario, path)
    assert read_scenario(path) == scenario


@given(scenarios())
def test_a_scenario_survives_yaml_and_json(scenario: Scenario) -> None:
    assert decode(Scenario, yaml.safe_load(dump_scenario(scenario))) == scenario
    assert decode(Scenario, json.loads(json.dumps(scenario.to_data()))) == scenario
    assert decode(Scenario, json.loads(dumps(scenario))) == scenario


def test_an_option_that_is_off_is_not_written_and_one_that_is_on_is() -> None:
    off, on = Config("dspark", 4, 2, (2,)), Config("dspark", 4, 2, (2,), overlap=True, page_size=8, verify=3)
    assert Scenario(off, ()).to_data()["config"].keys() == {
        "worker", "num_seq_slots", "max_num_requests", "buckets", "draft_len", "max_seq_len", "seed"
    }  # fmt: skip
    assert on.options == ("overlap", "page_size", "verify")
    assert decode(Config, Scenario(on, ()).to_data()["config"]) == on


@given(operations)
def test_every_operation_survives_the_wire(operation: Operation) -> None:
    scenario = Scenario(Config("dflash", 4, 4, ()), (operation,))
    assert decode(Scenario, json.loads(dumps(scenario))).operations == (operation,)


@given(snapshots)
def test_a_snapshot_survives_the_wire(snapshot: Snapshot) -> None:
    assert decode(Snapshot, json.loads(dumps(snapshot))) == snapshot


@given(snapshots, snapshots)
def test_what_changed_and_what_was_before_give_the_whole_snapshot(before: Snapshot, now: Snapshot) -> None:
    whole = with_changes(before, changes(before, now))
    assert {pool.name for pool in whole.pools} == {pool.name for pool in (*before.pools, *now.pools)}
    assert all(pool in whole.pools for pool in now.pools)
    assert all(item in whole.graph_inputs for item in now.graph_inputs)
    assert whole.requests == now.requests


def test_messages_survive_the_wire() -> None:
    scenario = Scenario(Config("dspark", 0, 4, (4, 1)), (Admit("r0", 4, (1, 3)), Step(("r0",))))
    request = Request("run", "embedded", faults=("a",), scenario=scenario, layout={"x": Layout("slot", 1, 2, 1)})
    assert decode(Request, json.loads(dumps(request))) == request
    reply = Reply(end=End(Outcome.CRASH, 3, "why", "cpu", stuck=True))
    assert decode(Reply, json.loads(dumps(reply))) == reply


BROKEN = [
    ({"config": 1}, "config: expected a mapping of worker,"),
    ({"operations": []}, "top level: missing config"),
    ([], "top level: expected a mapping of config, operations, name; found []"),
    ({"config": {"worker": 1}}, "config.worker: expected str, found 1"),
    ({"config": {"worker": "dflash", "buckets": 4}}, "config.buckets: expected a list, found 4"),
    ({"config": {"worker": "dflash", "buckets": [1, "2"]}}, "config.buckets.1: expected int, found '2'"),
    ({"config": {"worker": "dflash", "seats": 4}}, "config.seats: unknown field; known: worker, num_seq_slots,"),
    ({"config": {"num_seq_slots": True}}, "config.num_seq_slots: expected int, found True"),
    ({"operations": [{"step": {}}, {"stop": {}}]}, "operations.1.stop: unknown operation; known: capture,"),
    ({"operations": ["step"]}, "operations.0: expected one operation such as 'step: {}', found 'step'"),
    ({"operations": [{"step": {}, "idle": {}}]}, "operations.0: expected one operation such as 'step: {}'"),
    ({"operations": [{"admit": {"request": "r0"}}]}, "operations.0.admit: missing prompt_len"),
    ({"operations": [{"step": {"graph": 1}}]}, "operations.0.step.graph: expected bool, found 1"),
    ({"operations": "x" * 100}, "operations: expected a list, found 'xxxxxxxx"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BROKEN, ids=[message.split(":")[0] for _, message in BROKEN])
def test_malformed_data_names_the_path_and_what_was_expected(data: Any, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(Scenario, data)
    assert str(caught.value).startswith(message)


def test_an_unknown_member_of_an_enumeration_is_told_the_known_ones() -> None:
    with pytest.raises(
        CodecError, match="outcome: expected one of ok, violation, error, crash, hang, unsupported"
    ):
        decode(End, {"outcome": "fine"})


def test_an_operation_without_fields_may_stand_without_a_mapping() -> None:
    data = {"config": {"worker": "dflash", "num_seq_slots": 1, "max_num_requests": 1, "buckets": []},
            "operations": [{"warmup": None}]}  # fmt: skip
    assert str(decode(Scenario, data).operations[0]) == "warmup()"


CONFIG = "config: {worker: dflash, num_seq_slots: 2, max_num_requests: 2, buckets: [1, 2]}\n"
FILES = [
    ("", ":1", "is empty; expected a mapping"),
    ("config: {", ":1:10", "not YAML: "),
    (CONFIG + "operations:\n- step: {}\n", ":3:3", "operation 0, step(): a step needs at least one running"),
    (CONFIG + "operations:\n- finish: {request: r9}\n", ":3", "'r9' was never admitted"),
    (CONFIG + "operations:\n- {admit: {request: r0, prompt_len: x}}\n", ":3:37", "expected int, found 'x'"),
    (CONFIG + CONFIG, ":2:1", "'config' stands here a second time"),
    (
        CONFIG.replace("2, buckets", "5, buckets") + "operations: []\n",
        ":1:9",
        "config: max_num_requests 5 exceeds the 2 seats",
    ),
    ("a: &x [1]\nb: *x\n", ":2:4", "aliases are not allowed here"),
    ("operations: [[[[[[[[[[1]]]]]]]]]]\n", ":1", "nested too deeply"),
    (CONFIG + "operations: [!!python/name:os.system ]\n", ":2:14", "is not a value that a scenario has"),
]


@pytest.mark.parametrize(("text", "place", "message"), FILES, ids=[str(i) for i in range(len(FILES))])
def test_a_bad_scenario_file_is_refused_with_line_and_column(
    tmp_path: Path, text: str, place: str, message: str
) -> None:
    path = tmp_path / "scenario.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_scenario(path)
    error = str(caught.value)
    assert message in error
    if text:
        assert f"{path}{place}" in error
    assert "\n" not in error


def test_a_missing_file_and_a_huge_one_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_scenario(tmp_path / "absent.yml")
    huge = tmp_path / "huge.yml"
    huge.write_bytes(b" " * ((4 << 20) + 1))
    with pytest.raises(UsageError, match="a scenario has at most"):
        read_scenario(huge)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scenario.yml"
    path.write_text("old", encoding="utf-8")

    def fail(_: Scenario) -> str:
        raise RuntimeError("no disk")

    monkeypatch.setattr("harness.scenario_file.dump_scenario", fail)
    with pytest.raises(RuntimeError, match="no disk"):
        write_scenario(Scenario(Config("dflash", 1, 1, ()), ()), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["scenario.yml"]
