"""Which blocks facts select, and what is said about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lists import (
    Facts,
    Level,
    Source,
    TestDb,
    detect_facts,
    explain_selection,
    parse_facts,
    parse_test_db,
    select,
)

TEXT = """\
l0_slots:
- condition:
    ranges:
      system_gpu_count: {gte: 2, lte: 4}
      memory: {gte: 80.5}
    wildcards:
      gpu: ['*H100*', 'gb?00']
      cpu: aarch*
    terms:
      stage: pre_merge
      fp8: true
      level: 1.0
  tests:
  - slots/test_a.py::TestA::test_b
  - slots/test_a.py -k "x"
  - other
- condition:
    terms: {stage: post_merge}
  tests: [slots]
l0_empty:
- condition:
    terms: {stage: pre_merge}
  tests: []
"""
DB = TestDb("l0.yml", (parse_test_db(Source.of(TEXT.encode(), "l0.yml")),))


def selected(**facts: str | float | bool) -> list[bool]:
    return [verdict.selected for verdict in select(DB, "l0_slots", facts).verdicts]


def test_a_fact_that_is_not_given_removes_no_block() -> None:
    assert selected() == [True, True]
    assert selected(stage="post_merge") == [False, True]


def test_a_condition_that_does_not_name_a_fact_holds_for_any_value() -> None:
    assert selected(gpu="A10", system_gpu_count=9) == [False, True]


@pytest.mark.parametrize(
    ("count", "holds"),
    [(1, False), (2, True), ("2", True), (4, True), ("4.0", True), (4.1, False), (5, False)],
)
def test_ranges_include_both_ends(count: str | float, holds: bool) -> None:
    assert selected(system_gpu_count=count)[0] is holds


def test_either_end_of_a_range_may_be_open() -> None:
    assert [selected(memory=value)[0] for value in (80, 80.5, 10_000)] == [False, True, True]


@pytest.mark.parametrize(
    ("gpu", "holds"),
    [("NVIDIA h100 PCIe", True), ("H100", True), ("GB200", True), ("GB2000", False), ("h10", False)],
)
def test_wildcards_match_without_regard_to_case_and_any_one_is_enough(gpu: str, holds: bool) -> None:
    assert selected(gpu=gpu)[0] is holds


@pytest.mark.parametrize(
    ("key", "value", "holds"),
    [
        ("stage", "pre_merge", True),
        ("stage", "PRE_MERGE", False),
        ("stage", "pre_*", False),
        ("fp8", True, True),
        ("fp8", "True", True),
        ("fp8", False, False),
        ("level", 1.0, True),
        ("level", 1, False),
    ],
)
def test_terms_are_equal_as_text(key: str, value: str | bool, holds: bool) -> None:
    assert selected(**{key: value})[0] is holds


@pytest.mark.parametrize("value", ["four", "nan", "inf", "", "1_0", "9" * 5000, True])
def test_a_fact_with_a_range_must_be_a_number(value: str) -> None:
    with pytest.raises(UsageError, match=r"is no number, but l0\.yml:4:7 has a range for it"):
        selected(system_gpu_count=value)


def test_an_unknown_context_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no context 'l0_slot'; did you mean l0_slots"):
        select(DB, "l0_slot", {})


def test_every_removed_block_says_which_fact_broke_which_rule() -> None:
    first, second = select(DB, "l0_slots", {"gpu": "A10", "stage": "nightly"}).verdicts
    assert [str(m) for m in first.mismatches] == [
        "gpu is A10, but l0.yml:7:7 expects *H100* or gb?00",
        "stage is nightly, but l0.yml:10:7 expects pre_merge",
    ]
    assert [m.rule.key.text for m in second.mismatches] == ["stage"]


def test_entries_come_in_file_order() -> None:
    entries = select(DB, "l0_slots", {}).entries
    assert [entry.place.line for entry in entries] == [14, 15, 16, 19]


def test_explaining_finds_every_entry_that_names_a_test_and_its_level() -> None:
    found = explain_selection(DB, "slots/test_a.py::TestA::test_b[x]", {"stage": "post_merge"})
    assert [(item.entry.place.line, item.level, item.verdict.selected) for item in found] == [
        (14, Level.FUNCTION, False),
        (15, Level.FILE, False),
        (19, Level.FOLDER, True),
    ]
    assert explain_selection(DB, "slots/test_a.py", {}, context="l0_empty") == ()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("", {}),
        ("gpu=H100, system_gpu_count=1,", {"gpu": "H100", "system_gpu_count": "1"}),
        ("fp8=true,a=x=y", {"fp8": True, "a": "x=y"}),
        ('{"gpu": "H100", "n": 2, "fp8": true}', {"gpu": "H100", "n": 2, "fp8": True}),
        ('{"terms": {"stage": "x"}, "wildcards": {"gpu": "H100"}}', {"stage": "x", "gpu": "H100"}),
    ],
)
def test_facts_are_read_from_pairs_and_from_json(text: str, facts: Facts) -> None:
    assert parse_facts(text) == facts


@pytest.mark.parametrize("text", ["gpu", "=x", "gpu=1,gpu=2", "{", '{"a": [1]}', '{"a": {"b": 1}}', '{"a": null}'])
def test_facts_that_cannot_be_read_are_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="fact"):
        parse_facts(text)


def _fake_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")


def test_the_facts_of_this_machine_count_its_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_nvidia_smi(tmp_path, monkeypatch, "printf 'NVIDIA H100 PCIe, 9.0\\nNVIDIA H100 PCIe, 9.0\\n'")
    facts = detect_facts()
    found = (facts["gpu"], facts["system_gpu_count"], facts["compute_capability"])
    assert found == ("NVIDIA H100 PCIe", 2, "9.0")


def test_a_driver_that_fails_means_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_nvidia_smi(tmp_path, monkeypatch, "echo broken; exit 9")
    facts = detect_facts()
    assert facts["system_gpu_count"] == 0
    assert "gpu" not in facts
