"""Contexts and blocks of a test-db: can they be selected at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from harness.lists.checks.finding import Finding, find
from harness.lists.condition import mismatches
from harness.lists.stages import Stage
from harness.lists.testdb import Block, TestDbFile

__all__ = ["check_contexts"]


def check_contexts(file: TestDbFile, stages: Sequence[Stage]) -> Iterator[Finding]:
    """Check the name of every context and, with stages, that one selects each block."""
    stem = PurePath(file.file).stem
    for context in file.contexts:
        if context.text != stem:
            message = f"the context '{context}' is not named as its file, '{stem}'"
            expected = "the lists of a stage are looked up by the file's name: give both one name"
            yield find("wrong-context", context.place, message, expected, subject=context.text)
    for block in file.blocks:
        why = _never(block) or (_unselected(block, stages) if stages else "")
        if why:
            expected = "correct the condition, or remove the block"
            yield find("dead-block", block.place, why, expected, subject=_subject(block))


def _never(block: Block) -> str:
    """The range that no number fulfils, as a sentence; "" for none."""
    for rule in block.condition.ranges:
        if rule.gte is not None and rule.lte is not None and rule.gte > rule.lte:
            return f"no number is in the range of {rule.key}: {rule}"
    return ""


def _unselected(block: Block, stages: Sequence[Stage]) -> str:
    """Why the stage that comes closest does not select a block; "" when one does."""
    closest: tuple[int, str] | None = None
    for stage in stages:
        broken = list(mismatches(block.condition, stage.facts))
        if not broken:
            return ""
        if closest is None or len(broken) < closest[0]:
            rules = [f"{m.rule.key} is {m.actual} and not {m.rule}" for m in broken]
            closest = len(broken), f"{stage.name}, where {' and '.join(rules)}"
    return f"no stage selects block {block.index + 1}; closest is {closest[1]}" if closest else ""


def _subject(block: Block) -> str:
    rules = [f"{rule.key}={rule}" for rule in block.condition.rules]
    return f"{block.context}: {', '.join(rules)}"
