"""Hypothesis strategies for whole legal scenarios, and the rounds of scenarios that a search goes through.

Every choice is Hypothesis'; the pure model of what is legal says which there are. A scenario is drawn whole and
asks no engine anything: driving a live worker would make what is drawn depend on what the worker does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from harness.legality import Model
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Prefill,
    Rebind,
    Resume,
    Scenario,
    Step,
    Warmup,
)

__all__ = ["ROUND", "Space", "draw_round", "scenarios"]

T = TypeVar("T")

# Scenarios that are drawn at once and run side by side, whatever the number of hosts: what is found first must not
# depend on it. Few: after ten Hypothesis varies what it has drawn before, which finds less than drawing anew.
ROUND = 10
_STRIDE = 1_000_003  # between the seeds of two searches: no round of one is a round of the other

# How often an operation is chosen among those that are legal. Captures mostly come first, in any order.
_WEIGHTS = {
    "step": 10, "admit": 6, "finish": 3, "prefill": 3, "admit_disaggregated": 3, "preempt": 2, "resume": 3,
    "abort": 1, "idle": 1, "draft_len": 1, "capture": 1, "warmup": 1, "rebind": 1,
}  # fmt: skip
_FAR = 7_340_217_533_019_001  # where no program has a constant
_TRIES = 3  # what was chosen may not be legal now: a batch too long for the sequences it has, say


@dataclass(frozen=True)
class Space:
    """What scenarios are drawn from: all of it something that the target declares.

    length  operations of the longest scenario, captures before the first request not counted.
    """

    workers: tuple[str, ...]
    operations: tuple[str, ...]
    options: tuple[str, ...]
    length: int


def draw_round(space: Space, seed_: int, number: int, count: int = ROUND) -> list[Scenario]:
    """Return the scenarios of one round of a search: the same for the same arguments and version of Hypothesis."""
    drawn: list[Scenario] = []

    @seed(seed_ * _STRIDE + number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios(space))
    def collect(scenario: Scenario) -> None:
        drawn.append(scenario)

    with TemporaryDirectory() as folder:  # Hypothesis leaves notes, and would leave them where a person works
        set_hypothesis_home_dir(folder)
        try:
            collect()
        finally:
            set_hypothesis_home_dir(None)
    # The first is what Hypothesis thinks simplest, the same one for every seed.
    return list(dict.fromkeys(scenario for scenario in drawn[1:] if scenario.operations))


@st.composite
def scenarios(draw: st.DrawFn, space: Space) -> Scenario:
    """Draw a legal scenario: a configuration, what is warmed up and captured first, and what happens then."""
    choose = _Choices(draw)
    walk = _Walk(choose, Model(_config(choose, space)), space)
    walk.begin()
    # What Hypothesis thinks simplest it draws often at first: the longest, and steps, not one operation alone.
    for _ in range(space.length - choose.number(0, space.length - 1)):
        walk.go_on()
    return Scenario(walk.model.config, tuple(walk.done))


@dataclass(frozen=True)
class _Choices:
    """Choices, each a number far from all constants of a program: Hypothesis would mix in those that it reads in
    whatever modules are loaded, and takes its ways by the hash of what is sampled, which no two processes share.
    """

    draw: st.DrawFn

    def number(self, low: int, high: int) -> int:
        """Return a number between `low` and `high`, both included."""
        return self.draw(st.integers(_FAR, _FAR + high - low)) - _FAR + low

    def one(self, of: Sequence[T]) -> T:
        """Return one of several."""
        return of[self.number(0, len(of) - 1)]

    def some(self, of: Sequence[T], least: int, most: int) -> list[T]:
        """Return `least` to `most` of them, none twice, in any order."""
        left = list(of)
        return [left.pop(self.number(0, len(left) - 1)) for _ in range(self.number(least, most))]

    def by_chance(self, times: int) -> bool:
        """Return True once in so many times."""
        return self.number(1, times) == times


def _config(choose: _Choices, space: Space) -> Config:
    """Draw a configuration: every regime, buckets with gaps in any order, each option on now and then."""
    rows = choose.one((2, 3, 1, 4, 2, 3))
    worker = choose.one(space.workers)
    draft_len = choose.number(1, 4)
    values: dict[str, Callable[[], Any]] = {
        "sampling": lambda: True,
        "overlap": lambda: True,
        "page_size": lambda: choose.one((3, 4, 8)),
        "recurrent": lambda: True,
        "weights": lambda: "trained",  # with which drafts are accepted at all
        "verify": lambda: choose.number(1, rows * draft_len) if worker == "dspark" else 0,
    }
    on = {name: values[name]() for name in space.options if name in values and choose.by_chance(3)}
    # With `overlap` twice as many seats as a batch has rows; else as many, more of them, or unset.
    seats = (2 * rows, 2 * rows + 1) if "overlap" in on else (rows, rows + 1, 0, rows, rows + 2, 2 * rows + 2)
    return Config(
        worker, choose.one(seats), rows, tuple(choose.some(range(1, rows + 1), 1, min(rows, 3))), draft_len,
        choose.one((64, 40, 24)), choose.number(0, 2), **on,
    )  # fmt: skip


@dataclass
class _Walk:
    """A scenario being drawn. `ended` are ids that may come again."""

    choose: _Choices
    model: Model
    space: Space
    done: list[Operation] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    named: int = 0

    def begin(self) -> None:
        """Warm up or not, then capture buckets, all or some, in the order in which the configuration has them."""
        buckets = self.model.config.buckets
        first = self.choose.one(("bucket", "eager", "nothing"))
        if first == "eager":
            self._take(Warmup())
        if first != "nothing":
            for bucket in buckets[: len(buckets) - self.choose.number(0, len(buckets))]:
                self._take(Capture(bucket))

    def go_on(self) -> None:
        """Draw one more operation, of those that have something to act on."""
        for _ in range(_TRIES):
            names = [name for name in self._possible() for _ in range(_WEIGHTS[name])]
            if self._take(_DRAW[self.choose.one(names)](self)):
                return

    def _take(self, operation: Operation) -> bool:
        if operation.name not in self.space.operations or self.model.problem(operation) is not None:
            return False
        self.model.apply(operation)
        self.done.append(operation)
        if isinstance(operation, (Finish, Abort)):
            self.ended.append(operation.request)
        return True

    def _possible(self) -> list[str]:
        model = self.model
        config = model.config
        possible = {
            "step": bool(model.batch(Step())),
            "admit": len(model.running) < config.running_limit,
            "admit_disaggregated": len(model.running) < config.running_limit,
            "prefill": bool(model.chunks_left),
            "finish": bool(self.complete()),
            "abort": bool(model.reach),
            "preempt": bool(model.running),
            "resume": bool(model.preempted) and len(model.running) < config.running_limit,
            "capture": bool(config.buckets),
        }
        names = [name for name in _WEIGHTS if name in self.space.operations and possible.get(name, True)]
        return names or ["step"]

    def complete(self) -> list[str]:
        """Requests with no chunk left: those that can end by themselves."""
        return [request for request in self.model.reach if request not in self.model.chunks_left]

    def request(self) -> str:
        """A new id, or one of an ended request: an engine may still know it."""
        free = [request for request in self.ended[-2:] if request not in self.model.reach]
        if free and self.choose.by_chance(2):
            return self.choose.one(free)
        self.named += 1
        return f"r{self.named - 1}"

    def length(self) -> int:
        """Tokens of a prompt: mostly few, at times past a window and several pages."""
        return min(self.model.config.max_seq_len - 2, self.choose.number(1, self.choose.one((6, 18))))

    def admit(self) -> Operation:
        """A prompt: whole or in chunks, those now or one by one, with a prefix hit or without."""
        choose, length = self.choose, self.length()
        cached = choose.number(0, length - 1) if choose.by_chance(3) else 0
        chunks = self._chunks(length - cached) if choose.by_chance(2) else ()
        paused = len(chunks) > 1 and "prefill" in self.space.operations and choose.by_chance(2)
        return Admit(self.request(), length, chunks, cached or None, paused or None)

    def _chunks(self, length: int) -> tuple[int, ...]:
        first = self.choose.number(1, length)
        second = self.choose.number(0, length - first)
        return tuple(part for part in (first, second, length - first - second) if part)

    def step(self) -> Operation:
        """All running requests, or some of them in any order; on a graph, eagerly, or as the engine likes."""
        choose, ready = self.choose, self.model.batch(Step())
        limit = self.model.config.max_num_requests
        graph = choose.one((None, None, None, None, False, True))
        if len(ready) <= limit and choose.by_chance(2):
            return Step(None, graph)
        return Step(tuple(choose.some(ready, 1, min(len(ready), limit))), graph)


_DRAW: dict[str, Callable[[_Walk], Operation]] = {
    "step": _Walk.step,
    "admit": _Walk.admit,
    "admit_disaggregated": lambda walk: AdmitDisaggregated(walk.request(), walk.length()),
    "prefill": lambda walk: Prefill(walk.choose.one(list(walk.model.chunks_left))),
    "finish": lambda walk: Finish(walk.choose.one(walk.complete())),
    "abort": lambda walk: Abort(walk.choose.one(list(walk.model.reach))),
    "preempt": lambda walk: Preempt(walk.choose.one(walk.model.running)),
    "resume": lambda walk: Resume(walk.choose.one(sorted(walk.model.preempted))),
    "idle": lambda walk: Idle(walk.choose.by_chance(2)),
    "draft_len": lambda walk: DraftLen(walk.choose.number(0, walk.model.config.draft_len)),
    "capture": lambda walk: Capture(walk.choose.one(walk.model.config.buckets)),
    "warmup": lambda walk: Warmup(walk.choose.one((None, *walk.model.config.buckets))),
    "rebind": lambda _: Rebind(),
}
