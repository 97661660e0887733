"""Triggers of what goes wrong among the rows of one batch: padding, tails, order. Kinds K02, K03 and K07."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Retold, Story, Trigger
from harness.scenario import Admit, Capture, Config, Finish, Step

__all__ = ["ROW_TRIGGERS"]

_STEP = Step()
_FOUR = Config("dflash", num_seq_slots=4, max_num_requests=4, buckets=(4,))

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

ROW_TRIGGERS: dict[str, Trigger] = {
    # K02
    "pad-to-last-seat": _TWO_OF_FOUR_PADDED,
    "pad-with-last-live": Retold("nvbugs/6451032"),
    "dummy-keeps-a-seat": Retold("#13151"),
    "pad-with-minus-one": Retold("nvbugs/6451032", (("recurrent", True),)),
    # K03
    "stale-tokens": Retold("sglang#26292"),
    "tail-filled-once": _EXACT,
    "last-rows-read": _TWO_OF_FOUR,
    # K07
    "results-by-seat": _REORDERED,
}
