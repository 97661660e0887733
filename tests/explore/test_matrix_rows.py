"""What a row of the matrix says of the runs behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.explore import Row, caught_by_one_alone
from harness.explore.matrix import Judge, fill_row
from harness.explore.tables import (
    END,
    START,
    check_page,
    insert_table,
    render_ablation,
    render_markdown,
    render_matrix,
)
from harness.oracles import Judgement
from harness.scenario import Admit, Config, Scenario, Step
from harness.trace import Outcome, Snapshot, Trace, Violation

SCENARIO = Scenario(Config("dflash", 2, 2, ()), (Admit("a", 4), Step()), "one request")


def violation(invariant: str, rule: str = "rule", operation: int = 1) -> Violation:
    return Violation(invariant, rule, f"{invariant} is broken", operation, "this", "that", "buffer")


def judge(violations: Sequence[Violation], outcome: Outcome = Outcome.VIOLATION) -> Judge:
    return lambda scenario, _: Judgement(Trace(scenario, "embedded", "cpu", outcome=outcome), list(violations))


def row(fault: str, *violations: Violation) -> Row:
    return fill_row(Row(fault), [SCENARIO], judge(violations))


def test_the_first_word_of_every_invariant_stands_in_a_row() -> None:
    filled = row("fault", violation("I-POS", "first", 0), violation("I-POS", "second"), violation("R-ALONE"))
    assert [(c.invariant, c.rule, c.operation, c.told) for c in filled.catches] == [
        ("I-POS", "first", 0, "admit(request=a, prompt_len=4)"),
        ("R-ALONE", "rule", 1, "step()"),
    ]


@pytest.mark.parametrize(
    ("found", "oracle"),
    [
        (violation("I-POS"), "predicate"),
        (violation("R-ALONE"), "relation"),
        (violation("O-ENDS", "error", operation=2), "outcome"),
    ],
)
def test_a_row_tells_what_kind_of_oracle_caught_the_fault(found: Violation, oracle: str) -> None:
    assert row("fault", found).oracles == {oracle}


def test_what_a_probe_found_in_a_run_is_told_apart_from_what_a_predicate_concluded() -> None:
    found = violation("I-SCRATCH", "canary")
    shot = Snapshot(1, (), (), (), {}, {}, findings=(found,))
    judged = Judgement(Trace(SCENARIO, "embedded", "cpu", [shot]), [found, violation("I-POS")])
    filled = fill_row(Row("fault"), [SCENARIO], lambda scenario, faults: judged)
    assert [catch.oracle for catch in filled.catches] == ["probe", "predicate"]


def test_a_fault_must_be_caught_and_the_healthy_engine_must_not() -> None:
    assert row("fault", violation("I-POS")).holds
    assert not row("fault").holds
    assert row("").holds
    assert not row("", violation("I-POS")).holds


def test_what_the_target_cannot_run_is_no_pass() -> None:
    filled = fill_row(Row("fault"), [SCENARIO], judge([violation("I-POS")], Outcome.UNSUPPORTED))
    assert not filled.holds
    assert "UNSUPPORTED, one request" in render_matrix([filled])


def test_an_invariant_is_needed_by_the_faults_that_nothing_else_catches() -> None:
    rows = [row("both", violation("I-POS"), violation("R-ALONE")), row("one", violation("R-ALONE")), row("")]
    lost = caught_by_one_alone(rows, ["I-POS", "R-ALONE"])
    assert lost == {"I-POS": (), "R-ALONE": ("one",)}
    assert "I-POS    NOTHING" in render_ablation(lost)


def test_the_text_names_what_is_uncaught_and_what_one_kind_of_oracle_alone_catches() -> None:
    text = render_matrix([row(""), row("seen", violation("R-ALONE")), row("unseen")])
    assert "unseen: UNCAUGHT" in text
    assert "caught by a relation alone: 1 (seen)" in text
    assert text.endswith("1 of 2 faults caught, healthy engine holds\n")


def test_a_table_takes_the_place_of_the_one_before_and_touches_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{START}\nold\n{END}\n\nafter\n")
    insert_table(page, render_markdown([row("fault", violation("I-POS"))]))
    text = page.read_text()
    assert text.startswith(f"# Before\n\n{START}\n| kind |")
    assert text.endswith(f"{END}\n\nafter\n")
    assert "old" not in text


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    check_page(page)  # it does not exist: it would be made
    page.write_text("# Before\n")
    with pytest.raises(UsageError, match=r"page\.md: has no place"):
        check_page(page)
