"""Prefixes of waivers against the stages there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from harness.lists.checks.finding import Finding, find, named
from harness.lists.known.suggest import Choices
from harness.lists.model import Waiver

if TYPE_CHECKING:
    from harness.lists.stages import Stage

__all__ = ["check_prefixes"]

_MISSPELT = 82  # of 100: `RTXPro600D` for `RTXPro6000D`, but not `H100` for `H200`, which is another GPU
_SHOWN = 4


def check_prefixes(waivers: Iterable[Waiver], stages: Sequence[Stage]) -> Iterator[Finding]:
    """Check that every prefix is the head of a stage. Without stages nothing can be said."""
    heads = sorted({stage.head for stage in stages})
    choices = Choices(heads)
    for waiver in waivers if stages else ():
        if waiver.prefix is None or waiver.head in heads:
            continue
        place, subject = waiver.prefix.place, named(waiver)
        akin = [head for head in heads if _akin(waiver.head, head)]
        close = [] if akin else choices.nearest(waiver.head, _MISSPELT)
        if close:
            message = f"no stage has the head '{waiver.head}'"
            yield find("unknown-prefix", place, message, f"did you mean {close[0]}?", subject=subject)
        else:
            message = f"'full:{waiver.head}/' reaches no stage: a prefix must equal a stage's whole head"
            expected = f"the heads are {', '.join((akin or heads)[:_SHOWN])}"
            expected += ", ..." if len(akin or heads) > _SHOWN else ""
            yield find("dead-prefix", place, message, expected, subject=subject)


def _akin(prefix: str, head: str) -> bool:
    """Whether one of them is a part of the other at its `_`, as H100 is of DGX_H100 and H100_PCIe."""
    return bool(_part(prefix, head) or _part(head, prefix))


def _part(inner: str, outer: str) -> bool:
    return re.search(rf"(?:^|_){re.escape(inner)}(?:_|$)", outer) is not None
