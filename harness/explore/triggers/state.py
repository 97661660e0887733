"""Triggers of what a request finds in its row: unseeded, not reset, not rolled back. K06, K08, K10 and K12."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Story
from harness.scenario import Admit, AdmitDisaggregated, Config, DraftLen, Finish, Preempt, Resume, Step

__all__ = ["STATE_TRIGGERS"]

_STEP = Step()
_ONE = Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=())

_HANDED_OVER = Story("a request prefilled elsewhere", (AdmitDisaggregated("a", 12), _STEP, _STEP))
_GENERATION_FIRST = Story(
    "nothing but generation from the first forward on",
    (AdmitDisaggregated("a", 4), AdmitDisaggregated("b", 5), _STEP, _STEP),
)
_PREFIX_HIT = Story("a request behind a prefix hit", (Admit("a", 9, cached=5), _STEP, _STEP))
_HIT_IN_USED_ROW = Story(
    "a prefix hit after a step of others",
    (Admit("b", 4), _STEP, Admit("a", 9, cached=5), _STEP, _STEP),
)
_RECYCLED = Story(
    "a short request in the row of a longer one",
    (Admit("a", 12), _STEP, Finish("a"), Admit("b", 3), _STEP, _STEP),
    _ONE,
)
_WITHOUT_DRAFTS = Story(
    "draft length 0 for three steps, and back",
    (Admit("a", 4), _STEP, DraftLen(0), _STEP, _STEP, _STEP, DraftLen(3), _STEP, _STEP),
)
_PROMPT_OF_FOUR = Story("a prompt of four tokens, as many as a step verifies", (Admit("a", 4), _STEP, _STEP))
_SOLO = Story("one request for eight steps", (Admit("a", 4), *[_STEP] * 8))
_SHORT = Story("one request for two steps", (Admit("a", 4), _STEP, _STEP))
_LONG_RESUMED = Story(
    "a request past a window, preempted and resumed at a smaller draft length",
    (Admit("a", 9), _STEP, _STEP, DraftLen(1), Preempt("a"), Resume("a"), _STEP, _STEP),
    Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=(), draft_len=4),
)
_LEFT_OUT = Story(
    "a batch without a live request",
    (Admit("a", 4), Admit("b", 4), _STEP, Step(("b",)), _STEP),
)
_RESUMED = Story(
    "a request preempted and resumed",
    (Admit("a", 5), _STEP, _STEP, Preempt("a"), Resume("a"), _STEP, _STEP),
)
_ID_AGAIN = Story(
    "an id again at once, with a prefix hit",
    (Admit("a", 6), _STEP, Finish("a"), Admit("a", 6, cached=3), _STEP),
)
_ID_HANDED_OVER_AGAIN = Story(
    "an id again at once, prefilled elsewhere both times",
    (
        AdmitDisaggregated("a", 4), _STEP, Finish("a"), AdmitDisaggregated("a", 6), _STEP,
        Admit("b", 5), _STEP, _STEP,
    ),
    replace(_ONE, num_seq_slots=4, max_num_requests=2, overlap=True),
)  # fmt: skip

_ONE_DRAFT_FOR_THREE = Story(
    "one draft verified a step, three requests",
    (Admit("a", 4), Admit("b", 5), Admit("c", 6), _STEP, _STEP),
    Config("dspark", num_seq_slots=3, max_num_requests=3, buckets=(), seed=1, verify=1),
    workers=("dspark",),
)


def _with(story: Story, **options: bool | int) -> Story:
    return replace(story, config=replace(story.config, **options))  # type: ignore[arg-type]  # options are these


STATE_TRIGGERS: dict[str, tuple[Story, ...]] = {
    # K06
    "length-survives": (_RECYCLED,),
    "state-survives": (_with(_RECYCLED, recurrent=True),),
    "table-survives": (_with(_RECYCLED, page_size=4),),
    # K08
    "handover-forgotten": (_HANDED_OVER,),
    "first-forward-unmapped": (_GENERATION_FIRST,),
    "handover-counts-as-seen": (_HANDED_OVER,),
    "prefix-counts-as-seen": (_PREFIX_HIT,),
    "draftless-steps-forgotten": (_WITHOUT_DRAFTS,),
    "prompt-taken-for-a-step": (_PROMPT_OF_FOUR,),
    "one-column-too-many": (_HIT_IN_USED_ROW,),
    "placeholders-verified": (_with(_RECYCLED, sampling=True),),
    # K10
    "absent-loses-slot": (_LEFT_OUT,),
    "rejected-stay": (_SOLO,),
    "state-of-all-drafts": (_with(_SHORT, recurrent=True),),
    "state-of-first-column": (_with(_SOLO, recurrent=True),),
    "window-keeps-rejected": (replace(_LONG_RESUMED, workers=("dspark",)),),
    "resumed-without-context": (_RESUMED,),
    "unverified-accepted": (_ONE_DRAFT_FOR_THREE,),
    # K12
    "reuse-continues": (_ID_AGAIN,),
    "late-result-applies": (_RECYCLED,),
    "retired-row-known": (_ID_HANDED_OVER_AGAIN,),
}
