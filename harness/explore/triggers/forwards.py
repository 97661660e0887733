"""Triggers of what goes wrong with a forward itself: positions, graphs, metadata, budget. K09, K11, K13, K14."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Retold, Story, Trigger
from harness.scenario import (
    Admit,
    Capture,
    Config,
    DraftLen,
    Idle,
    Rebind,
    Step,
    Warmup,
)

__all__ = ["FORWARD_TRIGGERS"]

_STEP = Step()
_TWO = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=(2,))
_THREE = replace(_TWO, num_seq_slots=3, max_num_requests=3)

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

FORWARD_TRIGGERS: dict[str, Trigger] = {
    # K09
    "handover-one-too-far": Retold("#17619"),
    "keys-from-chunk-start": Retold("#15808"),
    # K11
    "workspace-grows": _LARGEST_FIRST,
    "graphs-outlive-memory": _IDLE_ON_NEW_MEMORY,
    "draft-length-baked": _OTHER_DRAFT_LENGTH,
    # K13
    "copy-runs-initialiser": _CAPTURED_TWICE,
    "copy-not-refreshed": Retold("#17492"),
    "slots-in-old-order": _AS_THEY_CAME,
    # K14
    "last-token-without-page": _PAGE_AFTER_PAGE,
    "retiring-counted": Retold("#13179"),
    "empty-dummy-batch": Retold("nvbugs/5394392"),
    "budget-for-each": Retold("nvbugs/6625851"),
    "nearest-bucket": _FULL_BUCKET,
}
