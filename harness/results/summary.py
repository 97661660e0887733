"""What a run's results come to: counts by word, and failures grouped by what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from harness.results.records import Result, Word

__all__ = ["count_words", "group_failures", "summarize"]

_SHOWN = 5  # names a group shows before it only counts


def count_words(results: Iterable[Result], deselected: int = 0) -> dict[str, int]:
    """How many tests each word has, in the order of `Word`; words of none are left out.

    A reused result counts twice: as how it ended, and as reused.
    """
    counts: Counter[Word] = Counter()
    for result in results:
        counts[result.outcome] += 1
        counts[Word.REUSED] += bool(result.reused)
    counts[Word.DESELECTED] += deselected
    return {word.value: counts[word] for word in Word if counts[word]}


def group_failures(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results that fail the run by signature, the largest group first, equal ones in order of appearance."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.fails:
            groups.setdefault(result.signature or result.outcome.value, []).append(result)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def summarize(results: Iterable[Result]) -> Iterator[str]:
    """Lines that tell each group of failures once: signature, tests, bugs and how to run one again."""
    for signature, failures in group_failures(results).items():
        tests = "1 test" if len(failures) == 1 else f"{len(failures)} tests"
        yield f"{signature}: {tests}"
        for failure in failures[:_SHOWN]:
            yield f"  {failure.outcome.value}  {failure.id}"
        if len(failures) > _SHOWN:
            yield f"  and {len(failures) - _SHOWN} more"
        first = failures[0]
        if first.bugs:
            yield f"  bugs: {', '.join(first.bugs)}"
        if first.replay:
            yield f"  again: {first.replay}"
