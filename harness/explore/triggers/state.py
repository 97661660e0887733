"""Triggers of what a request finds in its row: unseeded, not reset, not rolled back. K06, K08, K10 and K12."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Retold, Story, Trigger
from harness.scenario import Admit, AdmitDisaggregated, Config, DraftLen, Finish, Preempt, Resume, Step

__all__ = ["STATE_TRIGGERS"]

_STEP = Step()
_ONE = Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=())

_RECURRENT = Config("dflash", num_seq_slots=3, max_num_requests=3, buckets=(), recurrent=True)

_PREFIX_HIT = Story("a request behind a prefix hit", (Admit("a", 9, cached=5), _STEP, _STEP))
_SOLO = Story("one request for eight steps", (Admit("a", 4), *[_STEP] * 8))
_SHORT = Story("one request for two steps", (Admit("a", 4), _STEP, _STEP), _RECURRENT)
_LONG_RESUMED = Story(
    "a request past a window, preempted and resumed at a smaller draft length",
    (Admit("a", 9), _STEP, _STEP, DraftLen(1), Preempt("a"), Resume("a"), _STEP, _STEP),
    replace(_ONE, draft_len=4),
    workers=("dspark",),
)
_ID_HANDED_OVER_AGAIN = Story(
    "an id again at once, prefilled elsewhere both times",
    (
        AdmitDisaggregated("a", 4), _STEP, Finish("a"), AdmitDisaggregated("a", 6), _STEP,
        Admit("b", 5), _STEP, _STEP,
    ),
    replace(_ONE, num_seq_slots=4, max_num_requests=2, overlap=True),
)  # fmt: skip

STATE_TRIGGERS: dict[str, Trigger] = {
    # K06
    "state-survives": Retold("nvbugs/5485886", (("recurrent", True),)),
    "table-survives": Retold("nvbugs/5485886", (("page_size", 4),)),
    # K08
    "handover-counts-as-seen": Retold("#17619"),
    "prefix-counts-as-seen": _PREFIX_HIT,
    "placeholders-verified": Retold("nvbugs/5485886", (("sampling", True),)),
    # K10
    "rejected-stay": _SOLO,
    "state-of-all-drafts": _SHORT,
    "state-of-first-column": replace(_SOLO, config=_RECURRENT),
    "window-keeps-rejected": _LONG_RESUMED,
    # K12
    "retired-row-known": _ID_HANDED_OVER_AGAIN,
}
