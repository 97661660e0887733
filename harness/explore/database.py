"""What a search leaves for the next one: scenarios that broke something, and how far each seed was searched.

A folder of scenario files and one small JSON file: readable, safe to parse, and the same for every version of what
drew them. What is damaged is told, and not trusted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.codec import decode, dumps
from harness.errors import UsageError
from harness.explore.keeping import folder_name
from harness.files import write_atomically
from harness.scenario import Scenario
from harness.scenario_file import dump_scenario, read_scenario

__all__ = ["Database", "Place"]

_PLACES = "searched.json"


@dataclass(frozen=True)
class Place:
    """Where a search stands: in which round of its seed, and how many scenarios of that are done."""

    round: int = 0
    done: int = 0


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
        self._places = self._read_places()
        for file in sorted(folder.glob("*.yml")):
            self._read_scenario(file)

    def _read_scenario(self, file: Path) -> None:
        try:
            self.scenarios.append(read_scenario(file))
        except UsageError as error:
            self.notes.append(f"{error}; it is left out")

    def place(self, key: str) -> Place:
        """Return where the search called `key` goes on: at its beginning where it never was."""
        return self._places.get(key, Place())

    def remember(self, key: str, place: Place) -> None:
        """Note how far a search came."""
        self._places = {**self._read_places(), key: place}  # of another search beside this one, too
        write_atomically(self.folder / _PLACES, dumps(self._places) + "\n")

    def keep(self, signature: str, scenario: Scenario) -> None:
        """Keep a scenario that broke something; of one signature the last one stays."""
        write_atomically(self.folder / f"{folder_name(signature)}.yml", dump_scenario(scenario))

    def _read_places(self) -> Mapping[str, Place]:
        file = self.folder / _PLACES
        if not file.exists():
            return {}
        try:
            places = decode(dict[str, Place], json.loads(file.read_bytes()))
            if all(place.round >= 0 and place.done >= 0 for place in places.values()):
                return places
        except (OSError, ValueError, RecursionError):  # a CodecError is a ValueError
            pass
        note = f"{file}: is no record of searches; they start over"
        self.notes += [] if note in self.notes else [note]
        return {}
