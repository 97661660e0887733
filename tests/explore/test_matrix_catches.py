"""Every fault is caught by some oracle, the healthy engine breaks none, and the table in the docs says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.explore import Row, run_matrix, scenarios_for
from harness.explore.tables import END, START, render_markdown
from harness.faults import FAULTS
from harness.launch import Launcher

PAGE = Path(__file__).parents[2] / "docs" / "invariants.md"


def shortest_of_half_the_kinds() -> list[str]:
    """One fault a kind, of the kinds with the shortest triggers: every relation runs them again."""
    length = {name: sum(len(scenario.operations) for scenario in scenarios_for(name)) for name in FAULTS}
    chosen: dict[str, str] = {}
    for name in sorted(FAULTS, key=length.__getitem__):
        chosen.setdefault(FAULTS[name].kind, name)
    return list(chosen.values())[:8]


def table() -> list[str]:
    _, _, rest = PAGE.read_text().partition(START)
    return rest.partition(END)[0].splitlines()


def lines(rows: list[Row]) -> list[str]:
    return [line for line in render_markdown(rows).splitlines() if line.startswith("| K")]


def test_faults_are_caught_as_the_docs_say() -> None:
    with Launcher() as launcher:
        rows = run_matrix(launcher, shortest_of_half_the_kinds())
    assert [row.fault for row in rows if not row.holds] == []
    assert len(lines(rows)) == 8
    assert set(lines(rows)) <= set(table())


@pytest.mark.slow
def test_all_faults_are_caught_and_the_table_in_the_docs_is_what_the_command_makes() -> None:
    with Launcher() as launcher:
        rows = run_matrix(launcher)
    assert [row.fault for row in rows if not row.holds] == []
    assert render_markdown(rows).splitlines()[1:-1] == table()[1:]
