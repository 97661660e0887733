"""Did you mean: the existing names most like one that does not exist, those of the same file first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from harness.lists.known.model import KnownTests, TestFile
from harness.lists.known.resolve import Status, resolve
from harness.lists.nodeid import NodeId, normalized

__all__ = ["Choices", "Suggester"]

_COUNT = 3
_LIKE = 65  # of 100: still finds a word that was replaced; `test_` alone makes 60
_LIKE_PATH = 75
_WINDOW = 500
_MAX_ANSWERS = 1000


class Choices:
    """Names to choose from, ready to be compared with many wrong ones.

    Among very many, only those are compared that share the longest start or the longest end with the wrong
    name: whatever was mistyped in one place, one of the two is intact.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)
        self._backwards: list[str] = []

    def nearest(self, name: str, like: int = _LIKE) -> list[str]:
        """The names most like this one, best first; ties in order of text."""
        from rapidfuzz import fuzz, process  # paid for only when something is wrong

        found = process.extract(name, self._candidates(name), scorer=fuzz.ratio, limit=_COUNT, score_cutoff=like)
        return [choice for choice, _, _ in found]

    def starting_with(self, start: str) -> list[str]:
        """The first few names that start like this, in order of text."""
        at = bisect_left(self._names, start)
        return [name for name in self._names[at : at + _COUNT] if name.startswith(start)]

    def _candidates(self, name: str) -> Sequence[str]:
        if len(self._names) <= 4 * _WINDOW:
            return self._names
        if not self._backwards:
            self._backwards = sorted(choice[::-1] for choice in self._names)
        ends = [choice[::-1] for choice in _around(self._backwards, name[::-1])]
        return sorted({*_around(self._names, name), *ends})


def _around(names: Sequence[str], name: str) -> Sequence[str]:
    at = bisect_left(names, name)
    return names[max(at - _WINDOW, 0) : at + _WINDOW]


class Suggester:
    """Suggestions out of known tests. Each answer is a whole target, ready to be copied.

    After a thousand answers there are no more: with so many wrong names it is the ids that are wrong.
    """

    def __init__(self, known: KnownTests) -> None:
        self._known = known
        self._left = _MAX_ANSWERS
        self._paths: Choices | None = None
        self._folders: Choices | None = None
        self._chains: dict[str, Choices] = {}
        self._parameters: dict[str, Choices] = {}

    def suggest(self, target: str) -> list[str]:
        """At most three existing targets that may have been meant, the best first."""
        nodeid = NodeId.of(normalized(target))
        file = self._known.file(nodeid.path)
        return self._first(self._elsewhere(nodeid) if file is None else self._inside(nodeid, file))

    def completions(self, target: str) -> list[str]:
        """Existing ids whose parameters go on after a `-` where those of the target end."""
        path, names, parameters = NodeId.of(normalized(target))
        file, name = self._known.file(path), "::".join(names)
        known = file.functions.get(name) if file else None
        found = self._choices(f"{path}::{name}", known).starting_with(f"{parameters}-") if known else ()
        return [f"{path}::{name}[{one}]" for one in found]

    def suggest_homeless(self, target: str) -> list[str]:
        """The tests that a name without a file may mean: `TestX::test_y[z]` -> with the file that has it."""
        name, bracket, parameters = target.partition("[")
        names = tuple(name.split("::"))
        nodeid = NodeId("", names, parameters.removesuffix("]") if bracket else None)
        return self._first(
            found for path in self._known.holders(names[-1]) for found in self._same_names(path, nodeid)
        )

    def _first(self, names: Iterable[str]) -> list[str]:
        """The first few different ones that exist. Stops there: what follows may be costly."""
        self._left -= 1
        if self._left < 0:
            return []
        found: dict[str, None] = {}
        for name in names:
            if resolve(self._known, name).status is not Status.MISSING:
                found[name] = None
            if len(found) == _COUNT:
                break
        return list(found)

    def _elsewhere(self, nodeid: NodeId) -> Iterator[str]:
        """For a path that is not there: files of this name, files that hold the test, files spelt alike."""
        if not nodeid.names and not nodeid.path.endswith(".py"):
            yield from self._folder_choices().nearest(nodeid.path, _LIKE_PATH)
            return
        base = nodeid.path.rpartition("/")[2]
        same = [path for path in self._known.paths() if path.rpartition("/")[2] == base]
        near = [*Choices(same).nearest(nodeid.path, 0), *self._path_choices().nearest(nodeid.path, _LIKE_PATH)]
        for path in near:
            yield from self._same_names(path, nodeid)
        if nodeid.names:
            for path in self._known.holders(nodeid.names[-1]):
                yield from self._same_names(path, nodeid)
            for path in near:
                file = self._known.file(path)
                if file:
                    yield from self._inside(nodeid._replace(path=path), file)

    def _inside(self, nodeid: NodeId, file: TestFile) -> Iterator[str]:
        """For a name that its file does not have."""
        path, names, _ = nodeid
        name = "::".join(names)
        if name in file.functions:
            yield from self._with_parameters(nodeid, name)
            return
        yield from self._same_names(path, nodeid)
        if path not in self._chains:
            self._chains[path] = Choices((*file.functions, *file.classes))
        for near in self._chains[path].nearest(name):
            yield from self._with_parameters(nodeid, near)
        for other in self._known.holders(names[-1]):
            yield from self._same_names(other, nodeid)

    def _same_names(self, path: str, nodeid: NodeId) -> Iterator[str]:
        """The tests of this name in a file, in whatever class, that of the class most alike first."""
        file = self._known.file(path)
        if file is None:
            return
        if not nodeid.names:
            yield path
            return
        name, leaf = "::".join(nodeid.names), nodeid.names[-1]
        same = [n for n in (*file.functions, *file.classes) if n.rpartition("::")[2] == leaf]
        for found in Choices(same).nearest(name, 0) if len(same) > 1 else same:
            yield from self._with_parameters(nodeid._replace(path=path), found)

    def _with_parameters(self, nodeid: NodeId, name: str) -> Iterator[str]:
        """A function of the file, with the parameters that were meant, or without when it has none."""
        file = self._known.file(nodeid.path)
        known = file.functions.get(name) if file else None
        bare = f"{nodeid.path}::{name}"
        if nodeid.parameters is None or not known:
            open_parameters = file is not None and file.functions.get(name, frozenset()) is None
            yield f"{bare}[{nodeid.parameters}]" if nodeid.parameters and open_parameters else bare
            return
        if nodeid.parameters in known:
            yield f"{bare}[{nodeid.parameters}]"
            return
        yield from (f"{bare}[{near}]" for near in self._choices(bare, known).nearest(nodeid.parameters))
        yield bare

    def _choices(self, function: str, parameters: Iterable[str]) -> Choices:
        if function not in self._parameters:
            self._parameters[function] = Choices(parameters)
        return self._parameters[function]

    def _path_choices(self) -> Choices:
        self._paths = self._paths or Choices(self._known.paths())
        return self._paths

    def _folder_choices(self) -> Choices:
        if self._folders is None:
            found = {path.rpartition("/")[0] for path in self._known.paths()}
            parts = {"/".join(f.split("/")[:n]) for f in found for n in range(1, f.count("/") + 2)}
            self._folders = Choices(parts - {""})
        return self._folders
