"""How a target was launched, in the words of the command line, so that it can be launched so again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Launched"]


@dataclass(frozen=True)
class Launched:
    """What a person said of the target. `source` as they wrote it: a folder, a version, a revision of `repo`."""

    target: str = "embedded"
    source: str = ""
    repo: Path | None = None
    device: str = "cpu"
    isolation: str | None = None
    faults: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Return the options of `harness replay` that say the same from whatever folder."""
        words = ["--target", self.target, "--device", self.device]
        if self.source:
            words += ["--source", self._anywhere()]
        if self.repo is not None:
            words += ["--repo", str(self.repo.resolve())]
        if self.isolation:
            words += ["--isolation", self.isolation]
        for fault in self.faults:
            words += ["--fault", fault]
        return words

    def _anywhere(self) -> str:
        place, mark, variant = self.source.partition("?")
        try:
            folder = Path(place).expanduser()
        except RuntimeError:  # the home of a user that there is not
            return self.source
        if self.repo is None and folder.is_dir():
            return f"{folder.resolve()}{mark}{variant}"
        return self.source
