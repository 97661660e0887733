"""`harness matrix`: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.matrix import matrix
from harness.codec import decode
from harness.errors import UsageError
from harness.explore import Row
from harness.explore.tables import END, START


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(matrix, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_caught_fault_is_shown_with_oracle_scenario_and_operation() -> None:
    result = run("--fault", "dummy-climbs")
    assert result.exit_code == 0
    assert (
        "I-POS dummy-climbs (predicate) in one request in a bucket of two, step after step, dflash,"
        in result.output
    )
    assert "1 of 1 faults caught, healthy engine holds" in result.output


def test_an_uncaught_fault_fails() -> None:
    result = run("--fault", "dummy-climbs", "--without", "I-POS")
    assert result.exit_code == 1
    assert "dummy-climbs: UNCAUGHT" in result.output


def test_an_oracle_that_no_fault_needs_fails_the_ablation() -> None:
    result = run("--fault", "dummy-climbs", "--ablate")
    assert result.exit_code == 1
    assert "I-POS       dummy-climbs" in result.output
    assert "I-CAP       NOTHING" in result.output


def test_rows_are_written_as_json_and_into_a_page(tmp_path: Path) -> None:
    file, page = tmp_path / "matrix.json", tmp_path / "page.md"
    page.write_text(f"before\n{START}\n{END}\nafter\n")
    run("--fault", "dummy-climbs", "--json", str(file), "--markdown", str(page))
    rows = decode(list[Row], json.loads(file.read_text())["rows"])
    assert [(row.fault, row.holds) for row in rows] == [("", True), ("dummy-climbs", True)]
    assert "| `dummy-climbs` |" in page.read_text()
    assert page.read_text().endswith("after\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--fault", "none-such"), "--fault none-such: target embedded does not know it"),
        (("--without", "I-NONE"), "--without I-NONE: no such oracle; there are I-CAP, "),
        (("--markdown", "README.md"), "README.md: has no place for the table"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("-", r"\-")):
        run(*arguments)
