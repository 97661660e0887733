"""The collection of seeded faults: enough of every kind, each after a public bug, each a change of its own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields

import pytest

from harness.engine import Parts
from harness.faults import FAULTS, Fault, apply_faults

KINDS = [f"K{number:02}" for number in range(1, 17)]
# A number of TensorRT-LLM's tracker, a pull request or issue of a named project, or what we saw ourselves.
BUG = re.compile(r"nvbugs/\d{7}|#\d+|[\w.\-]+ (PR |#)\d+|observed: .+")


def test_there_are_sixty_faults_and_three_of_every_kind() -> None:
    counts = Counter(fault.kind for fault in FAULTS.values())
    assert len(FAULTS) >= 60
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 3


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_names_its_bug_and_says_in_one_sentence_what_goes_wrong(fault: Fault) -> None:
    assert BUG.fullmatch(fault.modelled_on)
    assert re.fullmatch(r"[^.].{20,110}[^.]", fault.summary)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_replaces_parts_and_is_gone_with_the_engine_that_has_it(fault: Fault) -> None:
    healthy = Parts()
    replaced = apply_faults(healthy, [fault.name])
    changed = [
        each.name for each in fields(Parts) if getattr(replaced, each.name) is not getattr(healthy, each.name)
    ]
    assert 1 <= len(changed) <= 3
    assert healthy == Parts()


def test_summaries_and_names_tell_faults_apart() -> None:
    assert len({fault.summary for fault in FAULTS.values()}) == len(FAULTS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in FAULTS)
