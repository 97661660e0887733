"""What a search leaves for the next one: scenarios that broke something, and how far each seed was searched.

A folder of scenario files and one small JSON file: readable, safe to parse, and the same for every version of what
drew them. What is damaged is told, and not trusted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from harness.codec import decode, dumps
from harness.errors import UsageError
from harness.explore.keeping import folder_name
from harness.files import write_atomically
from harness.scenario import Scenario
from harness.scenario_file import dump_scenario, read_scenario

__all__ = ["Database"]

_ROUNDS = "searched.json"


class Database:
    """The folder of a database, made where there is none. `notes` say in a line each what of it is not trusted.

    Raises `UsageError` where the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self.scenarios: list[Scenario] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--database {folder}: cannot be made: {error.strerror}") from None
        self._rounds = self._read_rounds()
        for file in sorted(folder.glob("*.yml")):
            self._read_scenario(file)

    def _read_scenario(self, file: Path) -> None:
        try:
            self.scenarios.append(read_scenario(file))
        except UsageError as error:
            self.notes.append(f"{error}; it is left out")

    def round(self, key: str) -> int:
        """Return the round in which the search called `key` goes on: the first one where it never was."""
        return self._rounds.get(key, 0)

    def remember(self, key: str, round_: int) -> None:
        """Note the round in which a search goes on."""
        self._rounds = {**self._read_rounds(), key: round_}  # of another search beside this one, too
        write_atomically(self.folder / _ROUNDS, dumps(self._rounds) + "\n")

    def keep(self, signature: str, scenario: Scenario) -> None:
        """Keep a scenario that broke something; of one signature the last one stays."""
        write_atomically(self.folder / f"{folder_name(signature)}.yml", dump_scenario(scenario))

    def _read_rounds(self) -> Mapping[str, int]:
        file = self.folder / _ROUNDS
        if not file.exists():
            return {}
        try:
            rounds = decode(dict[str, int], json.loads(file.read_bytes()))
            if min(rounds.values(), default=0) >= 0:
                return rounds
        except (OSError, ValueError, RecursionError):  # a CodecError is a ValueError
            pass
        note = f"{file}: is no record of searches; they start over"
        self.notes += [] if note in self.notes else [note]
        return {}
