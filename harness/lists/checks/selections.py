"""What runs twice because two entries of one selection name it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from harness.lists.checks.finding import Finding, find
from harness.lists.checks.scopes import bounded_scopes
from harness.lists.condition import Condition, Range, Term, Wildcard, mismatches
from harness.lists.model import Entry
from harness.lists.nodeid import normalized
from harness.lists.stages import Stage
from harness.lists.testdb import Block

__all__ = ["check_entries", "check_selections"]

_MAX_BLOCKS = 64


def check_selections(blocks: Sequence[Block], stages: Sequence[Stage]) -> Iterator[Finding]:
    """Compare the entries of each block, and those of two blocks that one stage selects together.

    Without stages two blocks count as selected together where their conditions prove it.
    """
    together = _Together(stages)
    contexts = dict.fromkeys(block.context.text for block in blocks)
    for context in contexts:
        pairs = [(entry, b) for b in blocks if b.context.text == context for entry in b.entries]
        yield from _repeated(pairs, together)


def check_entries(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Compare the entries of a flat list, all of which run."""
    yield from _repeated([(entry, None) for entry in entries], _Together(()))


class _First:
    """The first entry that says something, in each block. Real lists have a score of blocks, not hundreds."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, dict[Block | None, Entry]] = defaultdict(dict)

    def add(self, text: str, block: Block | None, entry: Entry) -> None:
        where = self._entries[text]
        if len(where) < _MAX_BLOCKS:
            where.setdefault(block, entry)

    def find(self, text: str, block: Block | None, together: _Together, but: Entry | None = None) -> Entry | None:
        """An entry of this text in a block that is selected together with another."""
        where = self._entries.get(text, {})
        return next((e for other, e in where.items() if e is not but and together(block, other)), None)


def _repeated(pairs: Sequence[tuple[Entry, Block | None]], together: _Together) -> Iterator[Finding]:
    seen, wide = _First(), _First()
    for entry, block in pairs:
        for target in () if entry.has_arguments else entry.targets:
            wide.add(normalized(target.text), block, entry)
    for entry, block in pairs:
        subject = " ".join(entry.test.text.split())
        first = seen.find(subject, block, together)
        seen.add(subject, block, entry)
        if first:
            message = f"'{_short(subject)}' stands in line {first.place.line} too, for the same selection"
            yield find("repeated-entry", entry.place, message, "remove one", subject=subject)
        elif wider := _wider(entry, block, wide, together):
            message = f"line {wider.place.line} runs it already: {_short(wider.test.text)}"
            expected = "remove this one, unless it needs a marker of its own"
            yield find("repeated-test", entry.place, message, expected, subject=subject)


def _wider(entry: Entry, block: Block | None, wide: _First, together: _Together) -> Entry | None:
    for target in entry.targets:
        own = 0 if entry.has_arguments else 1  # without arguments an entry is not wider than itself
        for scope, _ in islice(bounded_scopes(normalized(target.text)), own, None):
            if found := wide.find(scope, block, together, but=entry):
                return found
    return None


class _Together:
    """Whether two blocks are selected by one query. Remembers its answers."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self._known: dict[tuple[int, int], bool] = {}
        self._selecting: dict[int, frozenset[str]] = {}

    def __call__(self, one: Block | None, other: Block | None) -> bool:
        if one is other or one is None or other is None:
            return True
        key = (id(one), id(other))
        if key not in self._known:
            self._known[key] = (
                not self._of(one).isdisjoint(self._of(other))
                if self._stages
                else _compatible(one.condition, other.condition)
            )
        return self._known[key]

    def _of(self, block: Block) -> frozenset[str]:
        if id(block) not in self._selecting:
            self._selecting[id(block)] = frozenset(
                stage.name for stage in self._stages if not any(mismatches(block.condition, stage.facts))
            )
        return self._selecting[id(block)]


def _compatible(one: Condition, other: Condition) -> bool:
    """Whether some machine certainly fulfils both conditions."""
    theirs = {rule.key.text: rule for rule in other.rules}
    return all(rule.key.text not in theirs or _both_hold(rule, theirs[rule.key.text]) for rule in one.rules)


def _both_hold(one: Range | Wildcard | Term, other: Range | Wildcard | Term) -> bool:
    if isinstance(one, Term) and isinstance(other, Term):
        return one.value.text == other.value.text
    if isinstance(one, Wildcard) and isinstance(other, Wildcard):
        patterns = {pattern.text.lower() for pattern in one.patterns}
        return any(pattern.text.lower() in patterns for pattern in other.patterns)
    if isinstance(one, Range) and isinstance(other, Range):
        low = [end for end in (one.gte, other.gte) if end is not None]
        high = [end for end in (one.lte, other.lte) if end is not None]
        return not low or not high or max(low) <= min(high)
    return False


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
