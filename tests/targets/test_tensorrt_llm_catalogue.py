"""The other bugs of the catalogue on the families that have them, and on those that do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from laying import lay_tree

from harness.catalogue import find_bug, load_catalogue, load_reproducer
from harness.explore.versions import few_cases
from harness.launch import Launcher
from harness.reproduce import Parameters, reproduce
from harness.trace import Outcome

C, D = ("c", "d", "dflash"), ("d", "d", "dflash")
E, F, G = ("e", "d", "dflash"), ("f", "d", "dflash"), ("g", "e", "dflash")
SPARK_D, SPARK_E = ("e", "d", "dspark"), ("g", "e", "dspark")
CPP = "?layout=managed&backend=cpp"


@pytest.mark.parametrize(
    ("bug", "family", "variant", "signature"),
    [
        ("nvbugs/6451032", C, "", "I-SCRATCH:dummy-is-a-seat:slots"),
        ("nvbugs/6451032", D, "", ""),
        ("nvbugs/6451032", E, "", ""),
        ("#16767", E, "", "I-SEEDED:not-its-row:worker._batch_to_slot"),
        ("#16767", F, "", ""),
        ("#16767", SPARK_D, "", ""),
        ("#19320", F, CPP, "R-ALONE:drafts"),
        ("#19320", F, "?layout=managed", ""),
        ("#19320", G, CPP, ""),
        ("#19320", SPARK_D, "", ""),
        ("observed/absent-request", E, "", "R-ALONE:context-lost"),
        ("observed/absent-request", SPARK_D, "", "R-ALONE:context-lost"),
        ("observed/absent-request", SPARK_E, "", ""),
        ("observed/manager-replaced", G, "?layout=managed", "I-SEEDED:not-its-row:worker._batch_to_slot"),
        ("observed/manager-replaced", SPARK_E, "", ""),
        ("observed/warmup-slots", G, "", ""),
        ("observed/reused-id", SPARK_E, "", ""),
    ],
)
def test_a_family_has_the_bugs_it_has_upstream(
    tmp_path: Path, bug: str, family: tuple[str, str, str], variant: str, signature: str
) -> None:
    dflash, dspark, worker = family
    source = f"{lay_tree(tmp_path, dflash, dspark, 'fixed')}{variant}"
    with Launcher("tensorrt_llm", source=source, isolation="none") as launcher:
        results = reproduce(load_reproducer(find_bug(bug)), Parameters((worker,), orders=((4, 2, 1),)), launcher)
    ran = [result for result in results if result.outcome is not Outcome.UNSUPPORTED]  # a regime may be another's
    assert ran
    assert {result.signature for result in ran if not result.holds} == ({signature} if signature else set())


# What no tree can be asked, whatever its family.
NO_OPTION = {
    "#19040": "page_size",
    "#15775": "sampling",
    "#12588": "sampling",
    "nvbugs/6625851": "verify",
    "#13179": "overlap",
}
NO_PREEMPTION = {"#18115", "vllm#30916"}
# What a family cannot do beside these, and the bugs that it has.
UNABLE = {
    E: {"observed/manager-replaced"}, G: {"observed/manager-replaced"},
    SPARK_D: {"observed/manager-replaced", "#16888"}, SPARK_E: {"#16888"},
}  # fmt: skip
BROKEN = {
    E: {
        "#16767", "#17619", "#15775", "vllm-ascend#16712",  # requests prefilled elsewhere have no slot
        "observed/absent-request", "observed/first-generation-forward",
    } - set(NO_OPTION),
    G: {"observed/absent-request", "observed/first-generation-forward"},
    SPARK_D: {"observed/absent-request", "observed/first-generation-forward"},
    SPARK_E: set(),
}  # fmt: skip


@pytest.mark.parametrize("bug", [*NO_OPTION, *sorted(NO_PREEMPTION)])
def test_a_bug_that_needs_what_no_tree_can_do_is_unsupported_and_no_pass(tmp_path: Path, bug: str) -> None:
    reproducer = load_reproducer(find_bug(bug))
    with Launcher("tensorrt_llm", source=f"{lay_tree(tmp_path, 'g', 'e', 'fixed')}", isolation="none") as launcher:
        results = reproduce(reproducer, few_cases(reproducer), launcher)
    assert {result.outcome for result in results} == {Outcome.UNSUPPORTED}
    wanted = f"no option '{NO_OPTION[bug]}'" if bug in NO_OPTION else "can do 'preempt'"
    assert all(wanted in result.detail for result in results)


@pytest.mark.slow
@pytest.mark.parametrize("family", UNABLE, ids=lambda family: "-".join(family))
def test_every_bug_runs_on_every_family_that_can_do_its_operations(
    tmp_path: Path, family: tuple[str, str, str]
) -> None:
    dflash, dspark, worker = family
    bugs = [load_reproducer(entry) for entry in load_catalogue()]
    with Launcher("tensorrt_llm", source=f"{lay_tree(tmp_path, dflash, dspark, 'fixed')}") as launcher:
        words = {
            bug.bug: {
                result.word for result in reproduce(bug, replace(few_cases(bug), workers=(worker,)), launcher)
            }
            for bug in bugs
            if worker in bug.workers
        }
    assert {bug for bug, seen in words.items() if seen == {"n/a"}} == (
        UNABLE[family] | NO_PREEMPTION | (set(NO_OPTION) & set(words))
    )
    assert {bug for bug, seen in words.items() if not seen <= {"ok", "n/a"}} == BROKEN[family]
