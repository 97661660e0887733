"""Which blocks of a test-db hold for given facts, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import Place, UsageError
from harness.lists.condition import Facts, Mismatch, mismatches
from harness.lists.matching import coverage
from harness.lists.model import Entry
from harness.lists.nodeid import Level
from harness.lists.testdb import Block, TestDb

__all__ = ["BlockVerdict", "Found", "Selection", "explain_selection", "nearest", "select"]


@dataclass(frozen=True, slots=True)
class BlockVerdict:
    """A block, and the rules that the facts break: none of them when the block is selected."""

    block: Block
    mismatches: tuple[Mismatch, ...]

    @property
    def selected(self) -> bool:
        """Whether the block's entries run."""
        return not self.mismatches


@dataclass(frozen=True, slots=True)
class Selection:
    """All blocks of a context, each with its verdict, in file order."""

    context: str
    verdicts: tuple[BlockVerdict, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the selected blocks, in file order; what stands twice is there twice."""
        return tuple(entry for verdict in self.verdicts if verdict.selected for entry in verdict.block.entries)


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that names a test, how widely, and what became of its block."""

    entry: Entry
    level: Level
    verdict: BlockVerdict


def select(db: TestDb, context: str, facts: Facts) -> Selection:
    """Judge every block of a context. A fact that is not given removes no block.

    Raises UsageError for an unknown context, naming the nearest, and for a fact that should be a number.
    """
    if context not in db.contexts:
        close = nearest(context, db.contexts)
        hint = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(db.contexts) or 'none'}"
        raise UsageError(f"no context '{context}'; {hint}", Place(db.path))
    return Selection(context, tuple(_judge(block, facts) for block in db.blocks if block.context.text == context))


def explain_selection(db: TestDb, test: str, facts: Facts, context: str | None = None) -> tuple[Found, ...]:
    """Every entry that names a test, in file order, with its block's verdict; of one context or of all."""
    contexts = db.contexts if context is None else (context,)
    return tuple(
        Found(entry, level, verdict)
        for name in contexts
        for verdict in select(db, name, facts).verdicts
        for entry in verdict.block.entries
        if (level := coverage(entry, test)) is not None
    )


def nearest(name: str, candidates: tuple[str, ...], count: int = 3) -> list[str]:
    """The candidates most like a name, the best first."""
    from difflib import get_close_matches  # paid for only when something is wrong

    return get_close_matches(name, candidates, n=count)


def _judge(block: Block, facts: Facts) -> BlockVerdict:
    return BlockVerdict(block, tuple(mismatches(block.condition, facts)))
