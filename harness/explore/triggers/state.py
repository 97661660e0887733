"""Triggers of what a request finds in its row: unseeded, not reset, not rolled back. K06, K08, K10 and K12."""

from __future__ import annotations

from harness.explore.story import Story
from harness.scenario import Admit, AdmitDisaggregated, Config, Finish, Step

__all__ = ["STATE_TRIGGERS"]

_STEP = Step()

_HANDED_OVER = Story("a request prefilled elsewhere", (AdmitDisaggregated("a", 12), _STEP))
_GENERATION_FIRST = Story(
    "nothing but generation from the first forward on",
    (AdmitDisaggregated("a", 4), AdmitDisaggregated("b", 5), _STEP, _STEP),
)
_LEFT_OUT = Story(
    "a batch without a live request",
    (Admit("a", 4), Admit("b", 4), _STEP, Step(("b",)), _STEP),
)
_ID_AGAIN = Story(
    "an id again at once, with a prefix hit",
    (Admit("a", 6), _STEP, Finish("a"), Admit("a", 6, cached=3), _STEP),
)
_RECYCLED = Story(
    "a short request in the row of a longer one",
    (Admit("a", 12), _STEP, Finish("a"), Admit("b", 3), _STEP, _STEP),
    Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=()),
)
_SOLO = Story("one request for eight steps", (Admit("a", 4), *[_STEP] * 8))

STATE_TRIGGERS: dict[str, tuple[Story, ...]] = {
    "handover-forgotten": (_HANDED_OVER,),
    "handover-counts-as-seen": (_HANDED_OVER,),
    "length-survives": (_RECYCLED,),
    "rejected-stay": (_SOLO,),
    "first-forward-unmapped": (_GENERATION_FIRST,),
    "absent-loses-slot": (_LEFT_OUT,),
    "reuse-continues": (_ID_AGAIN,),
}
