"""What a supervised process is told, and what it leaves for its supervisor beside the log."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from harness.results.records import Word

__all__ = ["TASK", "VARIABLE", "Notes", "Task"]

VARIABLE = "HARNESS_SUPERVISED"


@dataclass(frozen=True)
class Task:
    """What a supervised pytest process is to do.

    folder   where notes go, private to the run.
    alone    the one test to run, "" for all.
    apart    tests that run later, each in a process of its own.
    first    the session with which this command began: results of earlier ones are reused.
    broken   files that end the process when they are collected: ids, relative to the root folder.
    """

    folder: str
    alone: str = ""
    apart: tuple[str, ...] = ()
    first: int = 1
    broken: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether tests that a list names may not be there."""
        return bool(self.alone or self.broken)

    def dumps(self) -> str:
        """Return the task as text, for an environment or a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Task:
        """Read what `dumps` wrote."""
        data = json.loads(text)
        return cls(data["folder"], data["alone"], tuple(data["apart"]), data["first"], tuple(data["broken"]))

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> Task | None:
        """Take the task out of the environment, so that no process that a test starts believes it is meant."""
        text = environment.pop(VARIABLE, None)
        return cls.loads(text) if text else None


TASK = pytest.StashKey[Task]()
"""On the config of a supervised process, and of its workers."""


@dataclass(frozen=True)
class Notes:
    """Notes in a folder, by kind and process: the newest of a process counts."""

    folder: Path

    def write(self, kind: str, text: str, pid: int | None = None) -> None:
        """Leave a note. It is read when the process is gone, or after it said so."""
        self.path(kind, pid or os.getpid()).write_text(text, errors="replace")

    def write_known(self, words: Mapping[str, Word]) -> None:
        """Note the waived tests that run, with the word for each of them if it fails."""
        self.write("known", json.dumps({name: word.value for name, word in words.items()}))

    def known(self, test: str, word: Word) -> Word:
        """The word for a test that failed as `word` says: its waiver's, where it is known to fail."""
        for text in self.read("known").values():
            return Word(json.loads(text).get(test, word.value))
        return word

    def erase(self, kind: str) -> None:
        """Take back this process's note."""
        self.path(kind, os.getpid()).unlink(missing_ok=True)

    def read(self, kind: str) -> dict[int, str]:
        """Return all notes of a kind by process."""
        found = sorted(self.folder.glob(f"{kind}-*"))
        return {int(path.name.rpartition("-")[2]): path.read_text(errors="replace") for path in found}

    def clear(self) -> None:
        """Remove every note, before another process begins."""
        for path in self.folder.iterdir():
            path.unlink()

    def path(self, kind: str, pid: int) -> Path:
        """Where a process's note of this kind is."""
        return self.folder / f"{kind}-{pid}"
