"""Which waivers are no longer needed, by results and by the state of their bugs; and the file without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.errors import UsageError
from harness.lists.bugstates import BugStates
from harness.lists.edits.document import Document, Item, parse_document
from harness.lists.edits.evidence import Evidence, Tally
from harness.lists.edits.layout import insert, place_key, remove
from harness.lists.model import Waiver
from harness.lists.source import Source

__all__ = ["Verdict", "judge", "prune"]

Action = Literal["remove", "narrow", "keep"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is proposed for one waiver, and why. `heads`: where a narrowed waiver is still needed."""

    waiver: Waiver
    action: Action
    why: str
    tallies: Mapping[str, Tally]
    heads: tuple[str, ...] = ()


def judge(document: Document, evidence: Evidence, needed: int, bugs: BugStates | None = None) -> list[Verdict]:
    """A verdict for every waiver that results mention or whose bug is closed, in file order.

    A place is clean when each of the waiver's tests passed `needed` times there and none ever failed. A waiver
    goes when all places are clean, and is narrowed to the others when only some are. A failure keeps the
    waiver of a closed bug, too.
    """
    verdicts = []
    for index, waiver in enumerate(document.waivers):
        tallies = evidence.get(index, {})
        state = bugs.find(waiver.reason.bug) if bugs and waiver.reason.bug else None
        closed = ""
        if state and state.is_closed:
            on = f" on {state.closed_on}" if state.closed_on else ""
            closed = f"bug {state.number} is {state.state.lower()}{on}"
        if tallies or closed:
            verdicts.append(_verdict(waiver, tallies, needed, closed))
    return verdicts


def _verdict(waiver: Waiver, tallies: Mapping[str, Tally], needed: int, closed: str) -> Verdict:
    failing = [head for head, tally in tallies.items() if tally.failed]
    unclean = sorted(head for head, tally in tallies.items() if not tally.is_clean(needed))
    if other := [m.name for m in waiver.markers if m.name in ("TIMEOUT", "ISOLATION")]:
        return Verdict(waiver, "keep", f"{other[0]} would go with it: edit by hand", tallies)
    if closed and not failing:
        return Verdict(waiver, "remove", closed, tallies)
    if not unclean:
        return Verdict(waiver, "remove", "passed wherever it ran", tallies)
    if len(unclean) < len(tallies) and not waiver.head and "" not in unclean:
        why = f"clean in {_names(set(tallies) - set(unclean))}, still needed in {_names(unclean)}"
        return Verdict(waiver, "narrow", why, tallies, tuple(unclean))
    why = f"fails in {_names(failing)}" if failing else f"too few clean runs in {_names(unclean)}"
    return Verdict(waiver, "keep", f"{closed}, but {why}" if closed else why, tallies)


def _names(heads: Iterable[str]) -> str:
    return ", ".join(sorted(head or "an unnamed stage" for head in heads))


def prune(document: Document, verdicts: Sequence[Verdict]) -> Document:
    """The file after the verdicts. A narrowed waiver becomes one line a stage head, each at its sorted place.

    A head for which the file has a line of that test already gets no second one.
    """
    by_place = {verdict.waiver.place: verdict for verdict in verdicts if verdict.action != "keep"}
    indices = {i for i, item in enumerate(document.items) if item.waiver and item.waiver.place in by_place}
    taken = {place_key(item) for item in document.items if item.waiver}
    result = remove(document, indices)
    for index in sorted(indices):
        item = document.items[index]
        assert item.waiver is not None
        comments = item.comments
        for head in by_place[item.waiver.place].heads:
            narrowed = replace(_limited(document, item, head), comments=comments)
            if place_key(narrowed) not in taken:
                result = insert(result, narrowed)
                comments = ()  # they stay with the first line
    return result


def _limited(document: Document, item: Item, head: str) -> Item:
    """The waiver as it is written, limited to one stage head."""
    assert item.waiver is not None
    if document.form == "text":
        lines: tuple[bytes, ...] = (f"full:{head}/".encode() + item.lines[0].lstrip(),)
    else:
        at = item.waiver.test.place
        row, column = at.line - item.line, item.lines[at.line - item.line].find(b"test")
        field = b" " * column + f"prefix: {head}".encode() + b"\n"
        lines = (*item.lines[: row + 1], field, *item.lines[row + 1 :])
    try:
        found = parse_document(Source.of(b"".join(lines), document.source.file), document.form).waivers
    except UsageError:  # a field of a flow mapping is no line
        found = ()
    if [(w.head, w.test.text) for w in found] != [(head, item.waiver.test.text)]:
        from harness.lists.edits.yaml_write import yaml_lines

        limited = replace(item.waiver, prefix=item.waiver.test._replace(text=head))
        return Item("waiver", yaml_lines(limited, document.column), waiver=limited)
    return Item("waiver", lines, waiver=found[0])
