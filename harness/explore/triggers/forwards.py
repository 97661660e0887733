"""Triggers of what goes wrong with a forward itself: positions, graphs, metadata, budget. K09, K11, K13, K14."""

from __future__ import annotations

from harness.explore.story import Story
from harness.scenario import Admit, AdmitDisaggregated, Capture, Config, Rebind, Step, Warmup

__all__ = ["FORWARD_TRIGGERS"]

_STEP = Step()
_TWO = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=(2,))

_PADDED_FOR_LONG = Story(
    "one request in a bucket of two, step after step",
    (Capture(2), Admit("a", 4), *[_STEP] * 6),
    _TWO,
)
_CACHE_REPLACED = Story(
    "the cache is replaced under a live request",
    (Warmup(), Admit("a", 4), _STEP, Rebind(), _STEP),
    _TWO,
)
_HANDED_OVER = Story("a request prefilled elsewhere goes on", (AdmitDisaggregated("a", 6), _STEP, _STEP))

FORWARD_TRIGGERS: dict[str, tuple[Story, ...]] = {
    "dummy-climbs": (_PADDED_FOR_LONG,),
    "handover-one-too-far": (_HANDED_OVER,),
    "rebind-drops-slots": (_CACHE_REPLACED,),
}
