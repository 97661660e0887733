"""The other bugs of the catalogue on the families that have them, and on those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from laying import lay_tree

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.reproduce import Parameters, reproduce

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
    assert {result.signature for result in results if not result.holds} == ({signature} if signature else set())
