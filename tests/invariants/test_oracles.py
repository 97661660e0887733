"""One call judges a scenario by everything: predicates, probes, relations, and that it comes to its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from broken_engines import BROKEN

from harness.invariants import RELATIONS
from harness.launch import Launcher
from harness.legality import IllegalScenarioError, check
from harness.oracles import ENDS, ORACLES, examine, judge, undeclared
from harness.scenario import (
    WORKERS,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Rebind,
    Resume,
    Scenario,
    Step,
)


def _scenario(worker: str) -> Scenario:
    """Every way to come, to be interrupted and to go, in a full pool and with graphs and padding."""
    config = Config(worker, 3, 3, (2,), recurrent=True)
    operations: tuple[Operation, ...] = (
        Capture(2), Admit("a", 6, (3, 3)), AdmitDisaggregated("b", 5), Step(), Step(("b", "a")), Step(),
        Preempt("a"), Resume("a"), Step(), Finish("a"), Admit("c", 4), Step(("c", "b")), Step(("b",)),
        Admit("d", 4), Preempt("b"), Step(), Resume("b"), Step(), Finish("d"), Step(), Idle(True),
    )  # fmt: skip
    return Scenario(config, operations)


@pytest.fixture(scope="module")
def broken() -> Iterator[Launcher]:
    with Launcher("broken_engines:Broken", isolation="none") as launched:
        yield launched


@pytest.mark.parametrize("worker", WORKERS)
def test_a_right_engine_breaks_nothing(launcher: Launcher, worker: str) -> None:
    judgement = examine(launcher, _scenario(worker))
    assert judgement.violations == []
    assert {name for name in judgement.silent if name in RELATIONS} == {"R-PADDED", "R-CAPTURES"}  # one bucket


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize(
    ("fault", "signature", "relations"),
    [
        ("falsy-zero", "I-REPR:moved:slots", set()),
        ("fields-not-refreshed", "I-FIELD:copy:request_ids", {"R-ALONE", "R-EAGER"}),
        ("copy-narrows-the-seats", "I-FIELD:copy:num_seq_slots", set()),
        ("rejected-tokens-stay", "I-ROLLBACK:state", {"R-PLAIN", "R-RESUME"}),
        ("state-not-reset", "I-FRESH:not-reset:target.state", {"R-PROBED"}),
        ("results-of-anybody", "I-GEN:generation:seats", set()),
        ("slots-are-batch-rows", "I-SPACE:missed:worker.context", {"R-ALONE", "R-ORDER", "R-USE"}),
        ("drafts-not-reserved", "I-BUDGET:overrun:tokens", set()),
        ("one-seat-short", "I-ROOM:refused:seats", {ENDS}),
    ],
)
def test_a_broken_decision_is_named_by_its_invariant_and_by_what_it_changes(
    broken: Launcher, worker: str, fault: str, signature: str, relations: set[str]
) -> None:
    found = judge(broken, _scenario(worker), (fault,))
    assert signature in {violation.signature for violation in found}
    assert relations <= {violation.invariant for violation in found}
    assert [violation.operation for violation in found] == sorted(violation.operation for violation in found)


def test_every_broken_engine_of_these_tests_is_judged(broken: Launcher) -> None:
    assert all(judge(broken, _scenario("dspark"), (fault,)) for fault in BROKEN)


def test_what_a_target_does_not_show_is_told_and_relations_need_none_of_it(launcher: Launcher) -> None:
    assert undeclared(launcher) == {}
    with Launcher("broken_engines:Mute", isolation="none") as mute:
        missing = undeclared(mute)
        judgement = examine(mute, _scenario("dflash"))
    assert missing["I-CAP"] == "pools, and which of them addresses a tensor"
    assert {"I-TAIL", "I-GEN", "I-FIELD", "I-BUDGET", "I-FRESH"} <= missing.keys()
    assert not missing.keys() & {*RELATIONS, ENDS}
    assert judgement.violations == []
    assert judgement.silent["I-CAP"] == f"not declared: {missing['I-CAP']}"


def test_an_oracle_that_is_left_out_says_nothing_and_the_others_say_what_they_said(broken: Launcher) -> None:
    scenario, fault = _scenario("dflash"), ("state-not-reset",)
    said = {violation.signature for violation in judge(broken, scenario, fault)}
    left = {violation.signature for violation in judge(broken, scenario, fault, without=("I-FRESH",))}
    assert said - left == {"I-FRESH:not-reset:target.state"}
    assert judge(broken, scenario, fault, without=ORACLES) == []


def test_an_oracle_that_does_not_exist_is_a_mistake(broken: Launcher) -> None:
    with pytest.raises(ValueError, match="no oracle is called I-NONE"):
        judge(broken, _scenario("dflash"), without=("I-NONE",))


def test_an_illegal_scenario_is_refused_before_anything_runs(broken: Launcher) -> None:
    with pytest.raises(IllegalScenarioError, match="operation 0"):
        judge(broken, Scenario(Config("dflash", 2, 2, ()), (Finish("a"),)))


CONFIG = Config("dspark", 4, 4, (1, 2, 4))
STORY: tuple[Operation, ...] = (
    Capture(4), Capture(1), Admit("a", 5, (2, 3)), Admit("b", 4), Step(), Preempt("a"), Step(), Resume("a"),
    DraftLen(1), Capture(2), Step(), Rebind(), Capture(4), Finish("b"), Step(),
)  # fmt: skip


def _related(name: str) -> tuple[Operation, ...]:
    other = RELATIONS[name].related(Scenario(CONFIG, STORY))
    assert other is not None
    check(other)
    return other.operations


def test_alone_each_request_lives_its_life_by_itself_and_eagerly() -> None:
    a, b = Step(("a",), graph=False), Step(("b",), graph=False)
    assert _related("R-ALONE") == (
        Admit("a", 5, (2, 3)), a, Preempt("a"), Resume("a"), DraftLen(1), a, a, Finish("a"),
        DraftLen(3), Admit("b", 4), b, b, DraftLen(1), b, Finish("b"),
    )  # fmt: skip


def test_orders_of_rows_and_captures_are_turned_round() -> None:
    assert [op for op in _related("R-ORDER") if isinstance(op, Step)] == [
        Step(("b", "a")), Step(("b",)), Step(("a", "b")), Step(("a",)),
    ]  # fmt: skip
    assert [op for op in _related("R-CAPTURES") if isinstance(op, Capture)] == [
        Capture(1), Capture(4), Capture(2), Capture(4),
    ]  # fmt: skip


def test_a_batch_is_run_in_halves_and_in_the_largest_bucket() -> None:
    assert [op.requests for op in _related("R-USE") if isinstance(op, Step)] == [
        ("b",), ("a",), ("b",), ("a",), ("b",), ("a",),
    ]  # fmt: skip
    assert [op for op in _related("R-PADDED") if isinstance(op, Capture)] == [Capture(4)] * 3


def test_graphs_chunks_interruptions_and_drafts_are_taken_away() -> None:
    assert not [op for op in _related("R-EAGER") if isinstance(op, Capture)]
    assert Admit("a", 5) in _related("R-CHUNKS")
    assert not [op for op in _related("R-RESUME") if isinstance(op, (Preempt, Resume))]
    plain = _related("R-PLAIN")
    assert plain[0] == DraftLen(0)
    assert len([op for op in plain if isinstance(op, Step)]) == 4 + 4 + 2 + 2


def test_where_nothing_can_be_varied_or_results_are_equal_in_distribution_alone_there_is_no_relation() -> None:
    short = Scenario(Config("dspark", 2, 2, ()), (Admit("a", 1), Step(("a",), graph=False), Finish("a")))
    assert [name for name, relation in RELATIONS.items() if relation.related(short)] == ["R-PLAIN", "R-PROBED"]
    sampled = Scenario(Config("dspark", 4, 4, (1, 2, 4), sampling=True, verify=2), STORY)
    silent = {name for name, relation in RELATIONS.items() if relation.related(sampled) is None}
    assert silent == {"R-ALONE", "R-ORDER", "R-USE", "R-PLAIN"}
