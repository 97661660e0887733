"""Joining the logs of shards into one, refused unless together they are the whole run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.errors import Place, UsageError
from harness.results.log import Log
from harness.results.records import End, Header, Plan, Record, Result, selection_digest
from harness.results.shards import parse_shard
from harness.results.summary import count_words

__all__ = ["Merged", "merge"]

# What the shards of one run must have in common, and how an error calls it.
_SHARED = {
    "list_sha256": "lists",
    "context": "contexts",
    "match": "facts",
    "durations_sha256": "durations files",
    "commit": "commits",
}


@dataclass(frozen=True)
class Merged:
    """The joined log, and what keeps it from being the whole run: a line each, none when it is."""

    records: tuple[Record, ...]
    findings: tuple[str, ...]


def merge(logs: Sequence[Log], unlisted: Callable[[list[str]], Iterator[str]]) -> Merged:
    """Join the logs of all shards of one run.

    unlisted   says of the ids of all results together where they are not what a list names, a line each.
    Raises `UsageError` for logs of different lists, durations, commits or numbers of shards: what each of them
    planned has nothing to do with the others.
    """
    for log in logs[1:]:
        _refuse_strangers(logs[0], log)
    results = [_placed(log.header, result) for log in logs for result in log.results.values()]
    tests = [result.id for result in results if result.phase != "collect"]
    findings = [*_missing(logs), *_repeated(logs), *_unplanned(logs, tests), *unlisted(tests)]
    header = replace(
        logs[0].header,
        run=hashlib.sha256("\n".join(sorted(log.header.run for log in logs)).encode()).hexdigest()[:32],
        session=1,
        at=min(log.header.at for log in logs),
        shard="",
        machine=" ".join(sorted({log.header.machine for log in logs})),
    )
    counts = count_words(results, _deselected_everywhere(logs))
    end = End(max(log.at_end for log in logs), int(any(result.fails for result in results)), counts)
    plan = Plan(tuple(tests), len(tests), selection_digest(tests))
    return Merged((header, plan, *results, end), tuple(findings))


def _refuse_strangers(first: Log, other: Log) -> None:
    for name, called in _SHARED.items():
        if getattr(first.header, name) != getattr(other.header, name):
            message = f"its run and that of {first.path} had different {called}; merge shards of one run"
            raise UsageError(message, Place(other.path))
    if _count(first) != _count(other):
        message = f"is one of {_count(other)} shards, {first.path} one of {_count(first)}; merge shards of one run"
        raise UsageError(message, Place(other.path))


def _count(log: Log) -> int:
    return parse_shard(log.header.shard)[1] if log.header.shard else 1


def _placed(header: Header, result: Result) -> Result:
    return result if result.host else replace(result, host=header.machine)


def _deselected_everywhere(logs: Sequence[Log]) -> int:
    """How many tests no shard has: to each shard, those of the others are deselected too."""
    # A session that did not end told nothing: the others know.
    return max(0, *(log.deselected - (log.plan.selected - len(log.plan.tests)) for log in logs if log.plan), 0)


def _missing(logs: Sequence[Log]) -> Iterator[str]:
    given = {log.header.shard for log in logs if log.header.shard}
    count = _count(logs[0])
    for index in range(1, count + 1):
        if given and f"{index}/{count}" not in given:
            yield f"shard {index}/{count} is missing: no log of it was given"
    for log in logs:
        plan = log.plan
        if plan is None:
            yield f"{log.path}: nobody knows what it was to run: it came to no plan; resume it"
            continue
        done = log.results
        for test in plan.tests:
            if test not in done:
                yield f"{log.path}: {test} has no result; resume it"
        for result in done.values():
            if result.phase == "collect" and result.fails:
                yield f"{log.path}: {result.id} could not be collected, so that its tests are missing"


def _repeated(logs: Sequence[Log]) -> Iterator[str]:
    counts = Counter(name for log in logs for name, result in log.results.items() if result.phase != "collect")
    for name, count in counts.items():
        if count > 1:
            where = ", ".join(log.path for log in logs if name in log.results)
            yield f"{name} has {count} results: in {where}"


def _unplanned(logs: Sequence[Log], tests: list[str]) -> Iterator[str]:
    """What no shard had to run although it was selected: known by number only, since no log names it."""
    plans = {log.path: log.plan for log in logs if log.plan is not None}
    digests = {plan.sha256: path for path, plan in plans.items()}
    if len(digests) > 1:
        yield f"{' and '.join(sorted(digests.values()))} selected different tests; run the same tree everywhere"
        return
    planned = {test for plan in plans.values() for test in plan.tests}
    for test in sorted(set(tests) - planned):
        yield f"{test} has a result, and no shard was to run it"
    if len(plans) == len(logs) == _count(logs[0]) and selection_digest(planned) not in digests:
        total = next(iter(plans.values())).selected
        yield f"the shards were to run {len(planned)} of {total} selected tests: plan all with one durations file"
