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
_TWO_OF_FOUR = Story(
    "two requests in a bucket of two, with seats for four",
    (Capture(2), Admit("a", 4), Admit("b", 5), _STEP, _STEP),
    replace(_FOUR, buckets=(2,)),
)
_TWO_OF_FOUR_PADDED = Story(
    "two requests in a bucket of three, with seats for four",
    (Capture(3), Admit("a", 4), Admit("b", 5), _STEP, _STEP),
    replace(_FOUR, buckets=(3,)),
)
_EXACT = Story(
    "four requests, then two, each in a bucket of their number",
    (
        Capture(4), Capture(2), Capture(1), Admit("a", 4), Admit("b", 5), Admit("c", 6), Admit("d", 7),
        _STEP, Finish("c"), Finish("d"), _STEP, _STEP,
    ),
    replace(_FOUR, buckets=(1, 2, 4)),
)  # fmt: skip
_REORDERED = Story(
    "three requests, each step in another order",
    (
        Admit("a", 4), Admit("b", 7), Admit("c", 10), _STEP, Step(("c", "a", "b")), Step(("b", "c", "a")), _STEP,
    ),
)  # fmt: skip
_MOVED_UP = Story(
    "the first of three requests ends, and the others move up",
    (Admit("a", 4), Admit("b", 5), Admit("c", 6), _STEP, _STEP, Finish("a"), _STEP, _STEP),
)

ROW_TRIGGERS: dict[str, tuple[Story, ...]] = {
    # K02
    "pad-to-slot-zero": (_PADDED,),
    "strangers-to-slot-zero": (_HANDED_OVER,),
    "pad-to-last-seat": (_TWO_OF_FOUR_PADDED,),
    "pad-with-last-live": (_PADDED,),
    "pad-to-free-looking": (_SAT_OUT,),
    "dummy-keeps-a-seat": (_SAT_OUT,),
    "bad-page-is-page-zero": (replace(_PADDED, config=replace(_FOUR, page_size=4)),),
    "pad-with-minus-one": (replace(_PADDED, config=replace(_FOUR, recurrent=True)),),
    # K03
    "stale-tail": (_SHRINKING,),
    "stale-tokens": (_SHRINKING,),
    "tail-filled-once": (_EXACT,),
    "last-rows-read": (_TWO_OF_FOUR,),
    # K07
    "slots-by-batch-row": (_REORDERED,),
    "sampled-by-batch-row": (replace(_REORDERED, config=replace(_REORDERED.config, sampling=True)),),
    "relayed-by-batch-row": (_MOVED_UP,),
    "results-by-seat": (_REORDERED,),
}
