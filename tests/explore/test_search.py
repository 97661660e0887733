"""The search: what it finds, how short it makes it, and where it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle

import now_and_then
import pytest

from harness.explore.drawing import Space
from harness.explore.finding import Finding, shortest
from harness.explore.search import Search
from harness.explore.shortening import removed
from harness.explore.showing import Witness, signature_of
from harness.launch import Launcher
from harness.oracles import Judgement, screen
from harness.scenario import Admit, Config, Finish, Scenario, Step
from harness.trace import Outcome, Violation

FEW = Space(("dflash",), ("admit", "step", "finish"), (), 6)
ODD = Scenario(Config("dflash", 2, 2, ()), (Admit("a", 4), Admit("odd", 4), Step(), Step(("a",)), Finish("a")))


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """The embedded engine, in this process: a search asks it a hundred times."""
    with Launcher(isolation="none") as launched:
        yield launched


@pytest.fixture(scope="module")
def space(launcher: Launcher) -> Space:
    target = launcher.describe()
    return Space(target.workers, target.operations, target.options, 10)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    """A target without any state, which never raises unless a test says so."""
    raise_in(monkeypatch, False)
    return Launcher("now_and_then:NowAndThen", isolation="none")


def raise_in(monkeypatch: pytest.MonkeyPatch, *runs: bool) -> None:
    """Say which of the next admissions of `odd` raise, over and over."""
    monkeypatch.setattr(now_and_then, "RAISES", cycle(runs).__next__)


def first_finding(launcher: Launcher, space: Space, fault: str, seed: int, width: int = 2) -> Finding:
    return next(Search(launcher, space, (fault,), seed, width).run((), lambda: True))


def none_can_go(launcher: Launcher, finding: Finding, fault: str) -> bool:
    """Whether each of the operations left is needed, asked of the engine anew."""
    shows = Witness(launcher, (fault,), finding.signature)
    without = [removed(finding.minimal, {index}) for index in range(len(finding.minimal.operations))]
    return shows([finding.found, finding.minimal]) == [True, True] and not any(shows(without))


def test_a_seeded_fault_is_found_and_none_of_the_operations_left_can_go(launcher: Launcher, space: Space) -> None:
    finding = first_finding(launcher, space, "handover-forgotten", 2)
    assert none_can_go(launcher, finding, "handover-forgotten")
    assert len(finding.minimal.operations) <= 3
    assert signature_of(finding.violation) == finding.signature
    assert finding.violation.operation < len(finding.minimal.operations)
    assert finding.hits == 5


def test_what_a_relation_alone_sees_is_made_short_by_that_relation(launcher: Launcher) -> None:
    fault = "slots-in-old-order"
    operations = (Admit("r0", 4), Admit("r1", 2), Step(), Finish("r0"), Admit("r2", 3), Step(("r2", "r1")))
    ((_, judged),) = screen(launcher, [Scenario(Config("dflash", 2, 2, (1,)), operations)], (fault,))
    finding = shortest(launcher, judged, (fault,), 2)
    assert finding.signature.startswith("R-")
    assert none_can_go(launcher, finding, fault)
    assert len(finding.minimal.operations) <= 3


def test_a_relations_finding_that_breaks_a_predicate_too_is_told_by_the_predicate(launcher: Launcher) -> None:
    order = ("slots-in-old-order",)
    scenario = Scenario(Config("dflash", 3, 3, ()), (Admit("a", 4), Admit("b", 7), Admit("c", 10), Step()))
    ((_, judged),) = screen(launcher, [scenario], order)
    assert judged.violations[0].invariant == "R-ORDER"
    both = (*order, "drafts-not-reserved")
    assert Witness(launcher, both, "R-ORDER:drafts")([scenario]) == [True]  # whatever a predicate says
    finding = shortest(launcher, judged, both, 2)
    assert finding.signature == "I-BUDGET:overrun:tokens"
    assert finding.found == scenario
    assert finding.minimal.operations == (Admit("a", 1), Step())


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["stale-tail", "absent-loses-slot", "reuse-continues", "drafts-not-reserved"])
def test_whatever_is_found_is_one_minimal(launcher: Launcher, space: Space, fault: str) -> None:
    search = Search(launcher, replace(space, length=20), (fault,), 11, 2)
    findings = list(search.run((), lambda: search.judged < 24))
    assert findings
    assert [finding.signature for finding in findings if not none_can_go(launcher, finding, fault)] == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["stale-tail", "absent-loses-slot", "retiring-counted", "rejected-stay"])
def test_the_same_seed_finds_the_same_however_many_hosts_there_are(fault: str, space: Space) -> None:
    findings = []
    for jobs in (1, 3):
        with Launcher(jobs=jobs) as launched:
            findings.append(replace(first_finding(launched, space, fault, 7, jobs), seconds=0.0, tried=0))
    assert findings[0] == findings[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_healthy_engine_holds_in_whole_searches(launcher: Launcher, space: Space, seed: int) -> None:
    search = Search(launcher, replace(space, length=20), (), 100 + seed)
    assert list(search.run((), lambda: search.judged < 64)) == []
    assert search.judged >= 64


def test_a_search_goes_on_where_another_one_ended(bare: Launcher) -> None:
    whole, half = Search(bare, FEW, (), 4), Search(bare, FEW, (), 4)
    assert [*whole.run((), lambda: whole.judged < 60), *half.run((), lambda: half.judged < 20)] == []
    rest = Search(bare, FEW, (), 4, round=half.round)
    list(rest.run((), lambda: half.judged + rest.judged < 60))
    assert rest.round == whole.round
    assert half.judged + rest.judged == whole.judged
    assert half.operations + rest.operations == whole.operations


def test_what_a_target_cannot_do_is_counted_and_breaks_nothing(bare: Launcher) -> None:
    search = Search(bare, FEW, (), 4)
    assert list(search.run((), lambda: search.judged < 40)) == []
    assert 0 < search.unsupported["seats must be counted"] < search.judged


def test_what_was_found_is_not_found_again_and_what_is_given_is_tried_first(
    bare: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    raise_in(monkeypatch, True)
    search = Search(bare, FEW, (), 4)
    (finding,) = search.run((ODD, ODD), lambda: search.judged < 20)
    assert (finding.signature, finding.found) == ("O-ENDS:error:RuntimeError", ODD)
    assert search.judged >= 20


def test_what_shows_in_some_runs_is_made_short_by_votes(bare: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    raise_in(monkeypatch, True, False, True)
    (finding,) = Search(bare, FEW).run((ODD,), lambda: False)
    assert finding.flaky
    assert 3 <= finding.hits < 5
    assert finding.minimal.operations == (Admit("odd", 1),)


def test_what_shows_it_less_often_than_the_found_one_does_not_count(
    bare: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows = Witness(bare, (), "O-ENDS:error:RuntimeError")
    raise_in(monkeypatch, True, True, False, True, False)
    assert shows.confirm(ODD) == 3
    assert shows([ODD]) == [True]
    raise_in(monkeypatch, True, False, False, True, False)
    assert shows([ODD]) == [False]
    assert shows.confirm(ODD) == 2
    assert shows([ODD]) == [True]


def test_an_interrupt_ends_the_minimising_and_then_the_search(
    bare: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(100))

    def interrupted() -> bool:
        if next(calls) == 9:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(now_and_then, "RAISES", interrupted)
    search = Search(bare, FEW).run((ODD,), lambda: True)
    finding = next(search)
    assert not finding.whole
    assert finding.signature == "O-ENDS:error:RuntimeError"
    with pytest.raises(KeyboardInterrupt):
        next(search)


def test_a_relation_is_asked_only_where_no_predicate_spoke(launcher: Launcher) -> None:
    scenario = Scenario(Config("dflash", 3, 3, ()), (Admit("a", 4), Admit("b", 7), Admit("c", 10), Step()))
    order = ("slots-in-old-order",)
    judged = dict(screen(launcher, [scenario, scenario], order))
    assert [[v.invariant for v in judged[index].violations] for index in (0, 1)] == [["R-ORDER"], ["R-ORDER"]]
    assert not dict(screen(launcher, [scenario], order, ("R-ALONE",)))[0].violations
    ((_, first),) = screen(launcher, [scenario], (*order, "drafts-not-reserved"))
    assert {violation.invariant for violation in first.violations} == {"I-BUDGET"}
    assert first.trace.outcome is Outcome.VIOLATION


def raised(what: str, invariant: str = "O-ENDS") -> Violation:
    return Violation(invariant, "error", f"error in operation 1: {what}", 1, "an end", what)


def test_two_errors_are_two_findings_and_two_texts_of_one_are_one() -> None:
    index = signature_of(raised("IndexError: index 3 is out of bounds [engine.py:7]"))
    assert index == signature_of(raised("IndexError: index 4 is out of bounds [engine.py:7]"))
    assert index != signature_of(raised("RuntimeError: no room [engine.py:9]"))
    assert index != signature_of(raised("IndexError: index 3 is out of bounds", "R-EAGER"))
    assert signature_of(raised("no answer")) == "O-ENDS:error"


def test_what_no_further_run_shows_is_not_made_shorter(launcher: Launcher) -> None:
    scenario = Scenario(Config("dflash", 2, 2, ()), (Admit("a", 4), Step(), Step()))
    ((_, judged),) = screen(launcher, [scenario])
    finding = shortest(launcher, Judgement(judged.trace, [raised("RuntimeError: once")]), (), 1)
    assert finding.flaky
    assert (finding.hits, finding.tried, finding.minimal) == (0, 0, scenario)
