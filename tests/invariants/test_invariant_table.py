"""The table of invariants covers every kind and every oracle, and the page shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from handmade import HEALTHY

from harness.invariants import ENTRIES, PREDICATES, RELATIONS, silent, table_lines
from harness.launch import Launcher
from harness.oracles import ENDS, examine
from harness.scenario import Admit, Capture, Config, Scenario, Step

PAGE = Path(__file__).parents[2] / "docs" / "invariants.md"


def test_the_page_shows_the_table_of_the_code() -> None:
    page = PAGE.read_text()
    assert "\n".join(table_lines()) in page


def test_every_oracle_has_its_row_and_every_kind_an_invariant() -> None:
    assert [entry.name for entry in ENTRIES] == [*PREDICATES, *RELATIONS, ENDS]
    kinds = {kind for entry in ENTRIES if entry.name.startswith("I-") for kind in entry.kinds}
    assert kinds == {f"K{number:02}" for number in range(1, 17)}


def test_what_a_target_does_not_show_silences_the_invariants_that_need_it() -> None:
    bare = replace(HEALTHY, pools=(), graph_inputs=(), requests={}, events=())
    told = silent([bare])
    assert {"I-FIELD", "I-BUDGET", "I-GEN", "I-TAIL", "I-POS", "I-CAP", "I-CONSERVE"} <= told.keys()
    assert told["I-FIELD"] == "fields of its metadata, each with its sort"
    assert "I-CAP" not in silent([bare, HEALTHY])
    assert not {"R-ALONE", "O-ENDS", "I-BAKED"} & told.keys()
    assert silent([]) == {}


def test_the_embedded_engine_declares_what_the_invariants_of_its_options_need(launcher: Launcher) -> None:
    config = Config("dspark", 4, 2, (2,), overlap=True, page_size=4, recurrent=True, verify=2)
    scenario = Scenario(config, (Capture(2), Admit("a", 4), Step()))
    undeclared = [name for name, why in examine(launcher, scenario).silent.items() if "declared" in why]
    assert undeclared == []
