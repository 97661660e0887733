"""Triggers of what goes wrong with a forward itself: positions, graphs, metadata, budget. K09, K11, K13, K14."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Story
from harness.scenario import (
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Rebind,
    Step,
    Warmup,
)

__all__ = ["FORWARD_TRIGGERS"]

_STEP = Step()
_TWO = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=(2,))
_THREE = replace(_TWO, num_seq_slots=3, max_num_requests=3)

_PADDED_FOR_LONG = Story(
    "one request in a bucket of two, step after step",
    (Capture(2), Admit("a", 4), *[_STEP] * 6),
    _TWO,
)
_HANDED_OVER = Story("a request prefilled elsewhere goes on", (AdmitDisaggregated("a", 6), _STEP, _STEP))
_PREFIX_HIT = Story("a prefix hit in front of a longer prompt", (Admit("a", 12, cached=4), _STEP, _STEP))
_CHUNKED = Story("a prompt in three chunks", (Admit("a", 9, (4, 3, 2)), _STEP, _STEP))
_SOLO = Story("one request for six steps", (Admit("a", 4), *[_STEP] * 6), replace(_TWO, buckets=()))
_CACHE_REPLACED = Story(
    "the cache is replaced under live requests",
    (Warmup(), Capture(2), Admit("a", 4), Admit("b", 5), _STEP, Rebind(), _STEP, _STEP),
    _TWO,
)
_IDLE_ON_NEW_MEMORY = Story(
    "the cache is replaced, and an idle rank replays a graph",
    (Warmup(), Capture(2), Rebind(), Idle(dp_dummy=True), Admit("a", 4)),
    _TWO,
)
_OTHER_DRAFT_LENGTH = Story(
    "a graph captured at draft length 3, steps at 1",
    (Capture(2), Admit("a", 4), Admit("b", 5), _STEP, DraftLen(1), _STEP, _STEP),
    _TWO,
)
_CAPTURED_TWICE = Story(
    "two buckets captured, then requests in both",
    (Capture(2), Capture(3), Warmup(), Admit("a", 4), Admit("b", 5), _STEP, Admit("c", 6), _STEP, _STEP),
    replace(_THREE, buckets=(2, 3)),
)
_WARMED_AND_CAPTURED = Story(
    "two buckets warmed up and captured, then requests in both",
    (
        Warmup(2), Capture(2), Warmup(3), Capture(3),
        Admit("a", 4), Admit("b", 5), _STEP, Admit("c", 6), _STEP, _STEP,
    ),
    replace(_THREE, buckets=(2, 3)),
)  # fmt: skip
_OTHER_TWO = Story(
    "two of three requests a step, never the same two",
    (
        Capture(2), Admit("a", 4), Admit("b", 5), Admit("c", 6),
        Step(("a", "b")), Step(("b", "c")), Step(("c", "a")),
    ),
    replace(_THREE, max_num_requests=2),
)  # fmt: skip
_LARGEST_FIRST = Story(
    "the larger of two buckets captured first",
    (Capture(3), Capture(2), Admit("a", 4), Admit("b", 5), _STEP, _STEP),
    replace(_THREE, buckets=(2, 3)),
)
_FULL_BUCKET = Story(
    "three requests in a bucket of three, beside one of one",
    (Capture(3), Capture(1), Admit("a", 4), Admit("b", 5), Admit("c", 6), _STEP, _STEP),
    replace(_THREE, buckets=(1, 3)),
)
_AS_THEY_CAME = Story(
    "three requests, stepped in the order in which they came",
    (Admit("a", 4), Admit("b", 7), Admit("c", 10), _STEP, _STEP, _STEP),
)
_PAGE_AFTER_PAGE = Story(
    "contexts that grow from page to page",
    (Admit("a", 3), Admit("b", 6), *[_STEP] * 5),
    replace(_TWO, buckets=(), page_size=4),
)
_IDLE = Story("an idle rank runs its dummy", (Warmup(), Idle(dp_dummy=True), Admit("a", 4), _STEP), _TWO)
_ENDING = Story(
    "a batch is ending while the next one comes",
    (Admit("a", 4), Admit("b", 5), _STEP, Finish("a"), Finish("b"), Admit("c", 4), Admit("d", 5), _STEP),
    Config("dflash", num_seq_slots=4, max_num_requests=2, buckets=(), overlap=True),
)
_TWO_DRAFTS_FOR_ALL = Story(
    "two drafts verified a step, two requests",
    (Admit("a", 4), Admit("b", 5), *[_STEP] * 4),
    replace(_TWO, buckets=(), verify=2),
    workers=("dspark",),
)

FORWARD_TRIGGERS: dict[str, tuple[Story, ...]] = {
    # K09
    "dummy-climbs": (_PADDED_FOR_LONG,),
    "handover-one-too-far": (_HANDED_OVER,),
    "prefix-from-zero": (_PREFIX_HIT,),
    "chunks-restart": (_CHUNKED,),
    "keys-from-chunk-start": (_CHUNKED,),
    "length-drifts": (_SOLO,),
    # K11
    "rebind-drops-slots": (_CACHE_REPLACED,),
    "workspace-grows": (_LARGEST_FIRST,),
    "graphs-outlive-memory": (_IDLE_ON_NEW_MEMORY,),
    "draft-length-baked": (_OTHER_DRAFT_LENGTH,),
    "slots-baked": (_WARMED_AND_CAPTURED,),
    # K13
    "copy-runs-initialiser": (_CAPTURED_TWICE,),
    "copy-not-refreshed": (_OTHER_TWO,),
    "refreshed-by-size": (_OTHER_TWO,),
    "one-token-a-request": (_OTHER_TWO,),
    "slots-in-old-order": (_AS_THEY_CAME,),
    # K14
    "drafts-not-reserved": (_SOLO,),
    "bonus-not-reserved": (_SOLO,),
    "last-token-without-page": (_PAGE_AFTER_PAGE,),
    "retiring-counted": (_ENDING,),
    "empty-dummy-batch": (_IDLE,),
    "budget-for-each": (_TWO_DRAFTS_FOR_ALL,),
    "nearest-bucket": (_FULL_BUCKET,),
}
