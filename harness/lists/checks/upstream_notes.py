"""Where TensorRT-LLM's own parser and matching would take a waiver otherwise than this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.lists.checks.finding import Finding, find, named
from harness.lists.known import KnownTests
from harness.lists.model import Line, Token, Waiver
from harness.lists.nodeid import Level, NodeId, normalized
from harness.lists.upstream import reading_differences

__all__ = ["note_levels", "note_readings"]


def note_readings(lines: Iterable[Line]) -> Iterator[Finding]:
    """A note for every line that upstream's parser reads otherwise."""
    for line in lines:
        for sentence in reading_differences(line):
            yield find("upstream-reading", line.place, sentence, subject=named(line))


def note_levels(waivers: Iterable[Waiver], known: KnownTests | None) -> Iterator[Finding]:
    """A note for every waiver whose level or prefix upstream cannot handle."""
    for waiver in waivers:
        if waiver.prefix and waiver.head in waiver.test.text:
            message = (
                f"upstream puts the stage's name in the place of every '{waiver.head}', also in the test's name"
            )
            yield find("upstream-prefix", waiver.prefix.place, message, subject=named(waiver))
        if waiver.has_arguments or len(waiver.targets) > 1:
            continue  # named as the list entry of this text, which upstream does too
        target = waiver.targets[0]
        level = _level(target, known)
        why = _limit(target.text.startswith("unittest/"), level)
        if why:
            yield find("upstream-level", target.place, why, subject=named(waiver))


def _level(target: Token, known: KnownTests | None) -> Level:
    """What a target is; a function without parameters is an exact id."""
    text = normalized(target.text)
    path, names, parameters = NodeId.of(text)
    if not names:
        return Level.FILE if path.endswith(".py") else Level.FOLDER
    if parameters is not None:
        return Level.ID
    file, name = known.file(path) if known else None, "::".join(names)
    if file is None:
        return Level.CLASS if names[-1].startswith("Test") else Level.ID
    if name in file.classes:
        return Level.CLASS
    return Level.FUNCTION if file.functions.get(name) else Level.ID


def _limit(is_unit_test: bool, level: Level) -> str:
    if level is Level.ID:
        return ""
    if not is_unit_test:
        return f"upstream ignores a waiver of a {level}: its outer session compares exact ids only"
    if level is Level.FOLDER:
        return (
            "upstream skips the list entry of exactly this text in its outer session; "
            "it reaches no test inside any other entry, because its inner session knows no folders"
        )
    return ""
