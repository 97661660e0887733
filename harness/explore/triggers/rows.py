"""Triggers of what goes wrong among the rows of one batch: padding, tails, order. Kinds K02, K03 and K07."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Story
from harness.scenario import Admit, AdmitDisaggregated, Capture, Config, Finish, Step, Warmup

__all__ = ["ROW_TRIGGERS"]

_STEP = Step()
_TWO_STEP = Step(("a", "b"))
_FOUR = Config("dflash", num_seq_slots=4, max_num_requests=4, buckets=(4,))

_PADDED = Story(
    "three requests in a bucket of four",
    (Capture(4), Admit("a", 4), Admit("b", 5), Admit("c", 6), _STEP, _STEP),
    _FOUR,
)
_SHRINKING = Story(
    "four requests in a bucket of four, then fewer",
    (
        Capture(4), Admit("a", 4), Admit("b", 5), Admit("c", 6), Admit("d", 7), _STEP,
        Finish("d"), _STEP, Finish("b"), _STEP, _STEP,
    ),
    _FOUR,
)  # fmt: skip
_HANDED_OVER = Story(
    "two requests prefilled elsewhere",
    (Warmup(), AdmitDisaggregated("a", 4), AdmitDisaggregated("b", 5), _STEP, _STEP),
)
_SAT_OUT = Story(
    "a live request sits out a padded batch",
    (
        Capture(2),
        Admit("a", 4),
        Admit("b", 5),
        _TWO_STEP,
        Step(("a",)),
        _TWO_STEP,
    ),
    replace(_FOUR, num_seq_slots=2, max_num_requests=2, buckets=(2,)),
)

ROW_TRIGGERS: dict[str, tuple[Story, ...]] = {
    "pad-to-slot-zero": (_PADDED,),
    "strangers-to-slot-zero": (_HANDED_OVER,),
    "pad-to-last-seat": (_SAT_OUT,),
    "pad-with-last-live": (_PADDED,),
    "pad-to-free-looking": (_SAT_OUT,),
    "stale-tail": (_SHRINKING,),
}
