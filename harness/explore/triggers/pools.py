"""Triggers of what goes wrong with a pool and who holds its rows. Kinds K01, K04, K05, K15 and K16."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Story
from harness.scenario import Admit, Capture, Config, Finish, Step, Warmup

__all__ = ["POOL_TRIGGERS"]

_STEP = Step()
_TWO = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=())
_THREE = replace(_TWO, num_seq_slots=3, max_num_requests=3)

_SMALL_FIRST = Story(
    "a bucket of two first, then three requests",
    (Capture(2), Admit("a", 4), Admit("b", 4), Admit("c", 4), _STEP),
    replace(_THREE, buckets=(2,)),
)
_WARMED_UP = Story("a request after the warm-up", (Warmup(), Admit("a", 4), _STEP), _TWO)
_ONE_FOR_ONE = Story(
    "full, and one comes for one that ended",
    (Admit("a", 4), Admit("b", 4), _STEP, Finish("a"), Admit("c", 4), _STEP, _STEP),
    _TWO,
)
_ONE_BY_ONE = Story(
    "one request after the other",
    tuple(op for name in "abc" for op in (Admit(name, 4), _STEP, Finish(name))),
    _TWO,
)

POOL_TRIGGERS: dict[str, tuple[Story, ...]] = {
    "capacity-from-bucket": (_SMALL_FIRST,),
    "ended-keeps-slot": (_ONE_BY_ONE,),
    "warmup-keeps-slots": (_WARMED_UP,),
    "refusal-ignored": (_ONE_FOR_ONE,),
}
