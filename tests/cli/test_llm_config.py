"""From an LLM-API configuration to buckets and capacities, and a bug's reproducer run with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.catalogue import find_bug
from harness.cli._cases import CaseOptions, plan_cases
from harness.cli.repro import repro
from harness.errors import UsageError
from harness.legality import check
from harness.llm_config import Derived, derive, read_llm_config
from harness.scenario import AdmitDisaggregated, Step

PRODUCTION = """\
model: some/model
max_batch_size: 5
cuda_graph_config:
  batch_sizes: [4, 2, 1]
  enable_padding: true
speculative_config:
  decoding_type: DFlash
  max_draft_len: 4
"""
QUICK = ("--orders", "sample:2", "--isolation", "none")


def derived(folder: Path, text: str) -> Derived:
    (folder / "llm_api.yml").write_text(text, encoding="utf-8")
    return derive(read_llm_config(folder / "llm_api.yml"))


def run(folder: Path, text: str, *arguments: str) -> Result:
    (folder / "llm_api.yml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(repro, ["6535874", "--config", str(folder / "llm_api.yml"), *arguments])


def test_the_bug_shows_with_the_configurations_own_numbers_and_they_are_explained(tmp_path: Path) -> None:
    broken = run(tmp_path, PRODUCTION, *QUICK, "--fault", "capacity-from-bucket")
    assert broken.exit_code == 1
    file = tmp_path / "llm_api.yml"
    for text in (
        f"{file}: worker dflash: speculative_config.decoding_type dflash (line 7)\n",
        f"{file}: max_num_requests 5: max_batch_size 5 (line 2)\n",
        f"{file}: buckets 1,2,4: cuda_graph_config.batch_sizes 1,2,4 (line 4), "
        "cuda_graph_config.enable_padding true (line 5)\n",
        f"{file}: num_seq_slots unset, max_num_requests 5 counts: ",
        f"{file}: draft_len 4: speculative_config.max_draft_len 4 (line 8)\n",
        "captured   config   config\n",
        "4>2>1          ok   silent\n",
        "1>2>4          ok     FAIL\n",
    ):
        assert text in broken.output
    assert run(tmp_path, PRODUCTION, *QUICK).exit_code == 0


@pytest.mark.parametrize(
    ("text", "buckets"),
    [
        ("max_batch_size: 5", (1, 2, 3, 4, 5)),
        ("max_batch_size: 5\ncuda_graph_config: {enable_padding: true}", (1, 2, 4, 5)),
        ("max_batch_size: 5\ncuda_graph_config: {max_batch_size: 3}", (1, 2, 3)),
        ("max_batch_size: 12\ncuda_graph_config: {max_batch_size: 10, enable_padding: yes}", (1, 2, 4, 8, 10)),
        ("max_batch_size: 3\ncuda_graph_config: {batch_sizes: [2, 8]}", (2,)),
        ("max_batch_size: 3\ncuda_graph_config: {batch_sizes: [2, 8], enable_padding: on}", (2, 3)),
    ],
)
def test_buckets_are_those_that_upstream_makes_and_filters(
    tmp_path: Path, text: str, buckets: tuple[int, ...]
) -> None:
    assert derived(tmp_path, text).config.buckets == buckets


@pytest.mark.parametrize(
    ("text", "slots", "note"),
    [
        ("", 0, "the engine seats 4, and"),
        ("pipeline_parallel_size: 2", 0, "the engine seats 8, 2 stages of 4, and"),
        ("enable_attention_dp: true", 8, "num_seq_slots 8: twice max_num_requests"),
        (
            "enable_attention_dp: true\ndisable_overlap_scheduler: true",
            0,
            "disable_overlap_scheduler true (line 3)",
        ),
        ("enable_attention_dp: true\npipeline_parallel_size: 2", 0, "pipeline_parallel_size 2 (line 3)"),
        (
            "cache_transceiver_config: {backend: NIXL}",
            0,
            "disaggregated serving (cache_transceiver_config.backend",
        ),
    ],
)
def test_num_seq_slots_is_told_to_the_metadata_only_for_headroom(
    tmp_path: Path, text: str, slots: int, note: str
) -> None:
    found = derived(tmp_path, f"max_batch_size: 4\n{text}\n")
    assert (found.config.num_seq_slots, found.config.max_num_requests) == (slots, 4)
    assert note in "\n".join(found.notes)


def test_large_numbers_are_divided_and_keep_their_order_of_size(tmp_path: Path) -> None:
    text = "max_batch_size: 2048\nenable_attention_dp: true\ncuda_graph_config: {batch_sizes: [1, 64, 1024]}\n"
    found = derived(tmp_path, text).config
    assert (found.buckets, found.max_num_requests, found.num_seq_slots) == ((1, 4), 8, 16)
    assert "all divided by 256" in derived(tmp_path, text).notes[-1]
    close = derived(tmp_path, "max_batch_size: 18\ncuda_graph_config: {batch_sizes: [17]}\n").config
    assert (close.buckets, close.max_num_requests) == ((9,), 10), "17 is below 18, however it is divided"
    whole = derived(tmp_path, "cuda_graph_config: {batch_sizes: [1, 1024, 2048]}\n").config
    assert whole.buckets == (1, 8, 16)
    assert whole.max_num_requests == 16


def test_many_buckets_are_run_in_sampled_orders_and_every_case_is_legal(tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text("max_batch_size: 16\ncuda_graph_config: {max_batch_size: 12}\n")
    plan = plan_cases(find_bug("6535874"), CaseOptions(None, None, None, None, tmp_path / "c.yml"))
    assert len(plan.parameters.orders) == 8
    cases = list(plan.reproducer.cases(plan.parameters))
    assert {case.regime for case in cases} == {"config"}
    for case in cases:
        check(case.scenario)
        steps = [op for op in case.scenario.operations if isinstance(op, Step)]
        assert {op.graph for op in steps if len(op.requests or ()) > 12} == {False}, "no padding, so no graph"
    check(plan.reproducer.reference("dflash", plan.parameters))


def test_a_generation_server_gets_its_requests_by_hand_over_and_its_own_numbers(tmp_path: Path) -> None:
    text = "max_batch_size: 8\ngeneration_servers:\n  max_batch_size: 4\n  num_instances: 1\n"
    (tmp_path / "c.yml").write_text(text)
    plan = plan_cases(find_bug("6535874"), CaseOptions("dspark", "2,1", None, "eager", tmp_path / "c.yml"))
    (case,) = plan.reproducer.cases(plan.parameters)
    assert case.scenario.config.max_num_requests == 4
    assert "admit_disaggregated" in {operation.name for operation in case.scenario.operations}
    assert "admit" not in {operation.name for operation in case.scenario.operations}
    reference = plan.reproducer.reference("dspark", plan.parameters)
    assert isinstance(reference.operations[0], AdmitDisaggregated)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            "max_batch_size: many",
            ":1:17: ",
            "max_batch_size: expected a whole number from 1 to 1048576, found 'many'",
        ),
        ("max_batch_size: 0", ":1:17: ", "expected a whole number from 1"),
        ("max_batch_size: 99999999999999999999", ":1:17: ", "expected a whole number"),
        ("max_batch_size: [1]", ":1:17: ", "expected one value"),
        ("a: 1\ncuda_graph_config: 5", ":2:20: ", "cuda_graph_config: expected a mapping"),
        ("cuda_graph_config:\n  batch_sizes: [1, -2]", ":2:20: ", "found '-2'"),
        ("cuda_graph_config: {batch_sizes: []}", ":1:34: ", "expected a list of numbers"),
        ("cuda_graph_config: {batch_sizes: [1, 2], max_batch_size: 3}", ":1:58: ", "not the largest"),
        ("cuda_graph_config: {enable_padding: maybe}", ":1:37: ", "expected true or false, found 'maybe'"),
        ("cuda_graph_config: {batch_sizes: [9]}\nmax_batch_size: 4", ":1:34: ", "no size of"),
        ("cuda_graph_config: null", ": ", "there are no buckets to capture"),
        ("speculative_config: {decoding_type: Eagle3}", ":1:37: ", "launches DFlash and DSpark"),
        ("max_batch_size: !!python/object/apply:os.system [x]", ":1:17: ", "a YAML tag, which is never followed"),
        ("a: &a [1]\nb: *a", ":1:4: ", "a YAML anchor, which is never followed"),
        ("a: [", ":2:1: ", "did not find expected"),
        ("- 1", ":1:1: ", "expected a mapping of LLM-API options"),
        ("", ": ", "expected a mapping of LLM-API options"),
        ("max_batch_size: 1\nmax_batch_size: 2", ":2:1: ", "stands here again"),
        ("[" * 30, ":1:", "nested deeper than"),
        ("[" * 10000, ":1:", "nesting depth"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    result = run(tmp_path, text)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"{tmp_path / 'llm_api.yml'}{place}")
    assert message in str(result.exception)


def test_options_that_contradict_the_configuration_are_refused(tmp_path: Path) -> None:
    for arguments, message in (
        (("--worker", "dspark"), "--worker dspark: "),
        (("--orders", "3,1"), "--orders 3,1: the configuration's buckets are 1,2,4"),
        (
            ("--regime", "loose"),
            "--regime loose: nvbugs/6535874 has exact, production, headroom, unset, narrow, config",
        ),
    ):
        result = run(tmp_path, PRODUCTION, *arguments)
        assert isinstance(result.exception, UsageError)
        assert message in str(result.exception)
