"""Triggers of what goes wrong with a pool and who holds its rows. Kinds K01, K04, K05, K15 and K16."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.story import Retold, Story, Trigger
from harness.scenario import Abort, Admit, Capture, Config, Finish, Step, Warmup

__all__ = ["POOL_TRIGGERS"]

_STEP = Step()
_ONE = Config("dflash", num_seq_slots=1, max_num_requests=1, buckets=())
_TWO = replace(_ONE, num_seq_slots=2, max_num_requests=2)
_THREE = replace(_ONE, num_seq_slots=3, max_num_requests=3)
_HEADROOM = replace(_ONE, num_seq_slots=4, max_num_requests=2)
_OVERLAP = replace(_HEADROOM, overlap=True)

_SMALL_FIRST = Story(
    "a bucket of two first, then three requests",
    (Capture(2), Admit("a", 4), Admit("b", 4), Admit("c", 4), _STEP),
    replace(_THREE, buckets=(2,)),
)
_SMALL_BATCHES = Story(
    "a bucket of two first, then three requests in batches of two and one",
    (Capture(2), Admit("a", 4), Admit("b", 4), Admit("c", 4), Step(("a", "b")), Step(("c",))),
    replace(_THREE, buckets=(2,)),
)
_FEW_THEN_MORE = Story(
    "one request in a bucket of three, then three",
    (Capture(3), Admit("a", 4), _STEP, Admit("b", 5), Admit("c", 6), _STEP, _STEP),
    replace(_THREE, buckets=(3,)),
)
_MORE_SEATS_THAN_ROWS = Story(
    "four long requests in four seats, two a batch",
    (
        Warmup(), Admit("a", 14), Admit("b", 14), Admit("c", 14), Admit("d", 14),
        Step(("a", "b")), Step(("c", "d")),
    ),
    replace(_HEADROOM, max_seq_len=24, page_size=4, recurrent=True),
)  # fmt: skip
_ABORTED_IN_PREFILL = Story(
    "cancelled between two chunks of its prompt",
    (Admit("a", 6, (3, 3), pause=True), Abort("a"), Admit("b", 4), _STEP, Abort("b"), Admit("c", 4), _STEP),
    replace(_TWO, page_size=4, recurrent=True),
)
_NEVER_STEPPED = Story(
    "three requests come and are cancelled before any step",
    (*[op for name in "abc" for op in (Admit(name, 4), Abort(name))], Admit("d", 4), _STEP),
    _OVERLAP,
)
_ALL_PAGES = Story(
    "every seat holds a long context",
    (Admit("a", 18), Admit("b", 18), _STEP, Finish("a"), Admit("c", 18), Step(("c",))),
    replace(_TWO, max_seq_len=24, page_size=4),
)
_ONE_LEAVES = Story(
    "of three requests the second one leaves",
    (Admit("a", 4), Admit("b", 5), Admit("c", 6), _STEP, Finish("b"), _STEP, Admit("d", 4), _STEP),
    _THREE,
)
_MANY_SEATS = Story(
    "eight seats, most of them empty",
    (Admit("a", 4), Admit("b", 5), _STEP, _STEP),
    replace(_TWO, num_seq_slots=8, recurrent=True),
)

POOL_TRIGGERS: dict[str, Trigger] = {
    # K01
    "capacity-from-bucket": _SMALL_FIRST,
    "pages-for-one-batch": _MORE_SEATS_THAN_ROWS,
    "map-from-first-batch": _SMALL_BATCHES,
    "null-page-one-too-far": Retold("#19040"),
    "workspace-of-first-batch": _FEW_THEN_MORE,
    # K04
    "everybody-retires": _NEVER_STEPPED,
    "pages-without-drafts": _ALL_PAGES,
    # K05
    "cancelled-keeps-pages": _ABORTED_IN_PREFILL,
    "released-twice": Retold("nvbugs/5480289"),
    # K15
    "no-pages-no-matter": _ALL_PAGES,
    # K16
    "narrow-offsets": _MANY_SEATS,
    "view-into-free-list": _ONE_LEAVES,
}
