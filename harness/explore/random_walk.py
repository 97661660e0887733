"""Random legal scenarios: a plain seeded generator over the pure model of what is legal.

The same seed gives the same scenario everywhere. A walk asks no engine anything: it is drawn whole, then run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from harness.legality import Model
from harness.scenario import (
    OPERATIONS,
    WORKERS,
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

__all__ = ["OPERATION_WEIGHTS", "OPTIONS", "draw_config", "draw_scenario"]

# How often an operation is tried; what is not legal at the moment is tried again as something else.
OPERATION_WEIGHTS: dict[str, float] = {
    "step": 50, "admit": 14, "prefill": 25, "finish": 7, "admit_disaggregated": 6, "preempt": 5, "resume": 7,
    "abort": 4, "idle": 4, "draft_len": 3, "capture": 4, "warmup": 1.5, "rebind": 0.5,
}  # fmt: skip

OPTIONS = tuple(each.name for each in fields(Config) if each.metadata.get("option"))
_OPTION_ON = 0.3  # how often each of them is on

_LONGEST_PROMPT = 12  # tokens: past a window of 8, and room for many steps behind it


def draw_config(generator: random.Random, options: Collection[str] = OPTIONS) -> Config:
    """Return a configuration: capacities of all regimes, buckets with gaps, each of `options` on now and then."""
    rows = generator.randint(1, 5)
    buckets = generator.sample(range(1, rows + 1), generator.randint(0, rows))
    config = Config(
        worker=generator.choice(WORKERS),
        num_seq_slots=generator.choice((0, rows, rows + 1, rows + 2)),
        max_num_requests=rows,
        buckets=tuple(buckets),
        draft_len=generator.randint(1, 4),
        max_seq_len=generator.choice((24, 40, 64)),
        seed=generator.randint(0, 2),
    )
    drawn: dict[str, Any] = {
        "sampling": True,
        "overlap": True,
        "page_size": generator.choice((3, 4, 8)),
        "recurrent": True,
        "verify": generator.randint(1, rows * config.draft_len),
        "weights": "trained",  # with which drafts are accepted at all
    }
    on = {name: value for name, value in drawn.items() if generator.random() < _OPTION_ON and name in options}
    if config.worker != "dspark":
        on.pop("verify", None)
    if "overlap" in on:
        config = replace(config, num_seq_slots=2 * rows + generator.randint(0, 1))
    return replace(config, **on)


def draw_scenario(
    seed: int, length: int, operations: Collection[str] = OPERATIONS, options: Collection[str] = OPTIONS
) -> Scenario:
    """Return a legal scenario of a drawn configuration and `length` operations, both of what a target can do.

    `idle` has to be among the operations: it is always legal, so a walk always goes on.
    """
    generator = random.Random(seed)
    weights = {name: weight for name, weight in OPERATION_WEIGHTS.items() if name in operations}
    walk = _Walk(generator, Model(draw_config(generator, options)), weights)
    return Scenario(walk.model.config, tuple(walk.next() for _ in range(length)), f"random walk {seed}")


@dataclass
class _Walk:
    """Draws one operation after the other; `ended` are ids that may be used again."""

    generator: random.Random
    model: Model
    weights: dict[str, float]
    ended: list[str] = field(default_factory=list)
    admitted: int = 0

    def next(self) -> Operation:
        """Return the next operation, done on the model already."""
        while True:
            (name,) = self.generator.choices(list(self.weights), list(self.weights.values()))
            operation = _DRAW[name](self)
            if operation is not None and self.model.problem(operation) is None:
                self.model.apply(operation)
                if isinstance(operation, (Finish, Abort)):
                    self.ended.append(operation.request)
                return operation

    def _request(self) -> str:
        # Ids come again now and then, at once too: an engine may still know them.
        if self.ended and self.generator.random() < 0.3:
            return self.generator.choice(self.ended[-3:])
        self.admitted += 1
        return f"r{self.admitted}"

    def _known(self, requests: Sequence[str]) -> str | None:
        return self.generator.choice(requests) if requests else None

    def admit(self) -> Operation:
        """A prompt, often in chunks, sometimes with a prefix hit."""
        length = self.generator.randint(1, _LONGEST_PROMPT)
        cached = self.generator.choice((None, None, self.generator.randrange(length)))
        chunks = self._chunks(length - (cached or 0)) if self.generator.random() < 0.6 else ()
        pause = True if "prefill" in self.weights and self.generator.random() < 0.5 else None
        return Admit(self._request(), length, chunks, cached, pause if len(chunks) > 1 else None)

    def _chunks(self, length: int) -> tuple[int, ...]:
        chunks: list[int] = []
        while sum(chunks) < length:
            chunks.append(self.generator.randint(1, length - sum(chunks)))
        return tuple(chunks)

    def prefill(self) -> Operation | None:
        """The next chunk of a paused prompt."""
        request = self._known(list(self.model.chunks_left))
        return Prefill(request) if request else None

    def admit_disaggregated(self) -> Operation:
        """A context that came over."""
        return AdmitDisaggregated(self._request(), self.generator.randint(1, _LONGEST_PROMPT))

    def step(self) -> Operation:
        """All running requests, or some of them in any order; by a graph, eagerly, or as the engine likes."""
        graph = self.generator.choice((None, None, None, False, True))
        if self.generator.random() < 0.5:
            return Step(None, graph)
        running = self.model.batch(Step())
        count = self.generator.randint(0, min(len(running), self.model.config.max_num_requests))
        return Step(tuple(self.generator.sample(running, count)), graph)

    def finish(self) -> Operation | None:
        """The end of any request, a preempted one included."""
        request = self._known(list(self.model.reach))
        return Finish(request) if request else None

    def abort(self) -> Operation | None:
        """The same from outside."""
        request = self._known(list(self.model.reach))
        return Abort(request) if request else None

    def preempt(self) -> Operation | None:
        """A running request loses its seat."""
        request = self._known(self.model.running)
        return Preempt(request) if request else None

    def resume(self) -> Operation | None:
        """A preempted one comes back."""
        request = self._known(sorted(self.model.preempted))
        return Resume(request) if request else None

    def idle(self) -> Operation:
        """A step without requests."""
        return Idle(self.generator.random() < 0.7)

    def draft_len(self) -> Operation:
        """Mostly the configured length, so that captured graphs are of use."""
        k = self.model.config.draft_len
        return DraftLen(k if self.generator.random() < 0.5 else self.generator.randint(0, k))

    def capture(self) -> Operation | None:
        """A bucket's graph, before requests or between them."""
        buckets = self.model.config.buckets
        return Capture(self.generator.choice(buckets)) if buckets else None

    def warmup(self) -> Operation:
        """An eager warm-up, or a bucket's."""
        buckets = self.model.config.buckets
        return Warmup(self.generator.choice((None, *buckets)))

    def rebind(self) -> Operation:
        """The cache's memory is replaced."""
        return Rebind()


_DRAW: dict[str, Callable[[_Walk], Operation | None]] = {name: getattr(_Walk, name) for name in OPERATION_WEIGHTS}
