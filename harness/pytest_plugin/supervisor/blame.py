"""Which test, or file, a session ended of, and whether another one should go on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.pytest_plugin.supervisor.child import Ended
from harness.pytest_plugin.supervisor.tail import Tail
from harness.pytest_plugin.supervisor.task import Notes
from harness.results.log import Appender
from harness.results.records import Result, Word, bounded

__all__ = ["Blame", "judge", "record"]

_INTERNAL_ERROR = 3


@dataclass(frozen=True)
class Blame:
    """What a session ended of, besides its own end.

    results    of the tests and files that ended it.
    broken     files that must not be collected again.
    suspects   tests that ran side by side when it died: each is to be run by itself, which tells.
    reason     what there is to say when nothing can be blamed.
    """

    results: list[Result] = field(default_factory=list)
    broken: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    reason: str = ""

    @property
    def told(self) -> str:
        """One line for a person."""
        if self.results:
            return "; ".join(f"{one.id} {one.outcome.value}: {one.message}" for one in self.results)
        if self.suspects:
            return f"{self.reason} while {' and '.join(self.suspects)} ran: each runs by itself now"
        return self.reason


def judge(ended: Ended, tail: Tail, notes: Notes) -> Blame | None:
    """Return what a session ended of; None when it came to its own end, which a person's Ctrl-C is too."""
    blame = None if ended.interrupted or notes.read("useless") else _judge(ended, tail, notes)
    if blame is None:
        return None
    known = [replace(one, outcome=notes.known(one.id, one.outcome)) for one in blame.results]
    return replace(blame, results=known)


def _judge(ended: Ended, tail: Tail, notes: Notes) -> Blame | None:
    ends = notes.read("finished")
    finished = ends.get(ended.pid)
    broke = {pid for pid, status in ends.items() if int(status) == _INTERNAL_ERROR}
    collecting = {file for pid, file in notes.read("collecting").items() if pid not in ends or pid in broke}
    if collecting and tail.headers and not _ran(tail):  # also where xdist replaced workers until it gave up
        return _files(collecting, _cause(ended, finished, notes))
    if left := dict(text.split("\n", 1) for text in notes.read("exit").values()):
        return Blame([_result(name, Word.CRASHED, f"it called pytest.exit: {why}") for name, why in left.items()])
    if finished is not None and ended.pid not in broke:
        return None
    if finished is None and not tail.headers and ended.status >= 0:
        return None  # it never came to a session: options that cannot be used, for one
    if poisoned := [text for pid, text in notes.read("poisoned").items() if pid == ended.pid]:
        return Blame(reason=f"{tail.results[-1].id} leaves a process that can run nothing else: {poisoned[0]}")
    cause = _cause(ended, finished, notes)
    running = [name for name in tail.running if name not in ended.hung]
    results = [_hung(name, stacks, tail) for name, stacks in ended.hung.items() if name in tail.running]
    if len(running) > 1:
        return Blame(results, suspects=tuple(running), reason=cause)
    stacks = "\n".join(text for text in notes.read("stacks").values() if text)
    results += [_timed_out(name, cause, stacks, tail) for name in running]
    return Blame(results, reason=cause)


def _ran(tail: Tail) -> bool:
    return bool(tail.running) or any(result.phase != "collect" for result in tail.results)


def _cause(ended: Ended, finished: str | None, notes: Notes) -> str:
    broken = next((text.partition("\n")[2] for text in notes.read("broken").values()), "")
    if broken:
        return f"pytest itself failed: {broken}"
    return "the session came to no end" if finished is not None else ended.cause


def _files(names: Iterable[str], cause: str) -> Blame:
    files = tuple(sorted(names))
    results = [_result(name, Word.CRASHED, f"while it was collected {cause}") for name in files]
    return Blame(results, broken=files)


def _hung(name: str, stacks: str, tail: Tail) -> Result:
    return _result(name, Word.HUNG, f"no end within {tail.running[name].limit:g} s", stacks)


def _timed_out(name: str, cause: str, stacks: str, tail: Tail) -> Result:
    """A process that leaves at the test's limit was ended by pytest-timeout's thread."""
    started = tail.running[name]
    if started.limit and time.time() >= started.at + started.limit:
        return _result(name, Word.HUNG, f"no end within {started.limit:g} s", stacks)
    return _result(name, Word.CRASHED, cause, stacks)


def _result(name: str, word: Word, message: str, text: str = "") -> Result:
    signature, text = f"{word.value}: {message}", bounded(text.strip())
    return Result(name, word, time.time(), message=message, text=text, signature=signature)


def record(log: Path, results: Sequence[Result]) -> None:
    """Append results that no pytest process could write. Raises `UsageError` where the log cannot be written."""
    if results:
        appender = Appender(log)
        for result in results:
            appender.write(result)
        appender.close()
