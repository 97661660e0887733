"""Scenarios played on an engine: random legal ones, and what each life of a request produced."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from engine_rig import SHAPE, greedy_of
from hypothesis import note
from hypothesis import strategies as st

from harness.engine import Engine, Parts
from harness.engine.weights import hashed_ids
from harness.host.graph_tape import tape_capture
from harness.legality import Model, check
from harness.scenario import (
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
from harness.targets.embedded import EmbeddedSession

LENGTH, LONGEST = 24, 48  # operations of a walk; tokens of a text
_NAMES = ("r0", "r1", "r2")


def _coming(name: str) -> list[Operation]:
    parts, hit = Admit(name, 5, (2, 1, 2), None, True), Admit(name, 6, (3, 1), 2)
    return [Admit(name, 4), parts, hit, AdmitDisaggregated(name, 3)]


def _choices(model: Model, steady: bool) -> list[Operation]:
    """Return what may come next; steps stand there several times, for they are what an engine does most."""
    each: list[Operation] = [
        operation
        for name in _NAMES
        for operation in (*_coming(name), Prefill(name), Preempt(name), Resume(name), Resume(name), Finish(name))
    ]
    each += [Abort("r0"), Idle(True), Capture(1), Capture(2), Warmup(), Rebind(), Step(graph=False)]
    each += [Step(), Step(("r0",))] * 5
    if not steady:
        each += [DraftLen(k) for k in (0, 2, 3)]
    return [operation for operation in each if model.problem(operation) is None]


@st.composite
def scenarios(draw: st.DrawFn, /, *, steady: bool = False, **options: Any) -> Scenario:
    """Draw a walk of legal operations; every option is on or off unless it is given.

    Steady: the draft length stays as it is. A walk is drawn by its seed: Hypothesis itself prefers short ones.
    """
    worker = draw(st.sampled_from(WORKERS))
    drawn: dict[str, Any] = {
        "sampling": False, "overlap": draw(st.booleans()), "page_size": draw(st.sampled_from([0, 4])),
        "recurrent": draw(st.booleans()), "verify": draw(st.integers(0, 3)) if worker == "dspark" else 0,
    }  # fmt: skip
    drawn |= options
    config = Config(worker, 4 if drawn["overlap"] else 3, 2, (1, 2), max_seq_len=48, **drawn)
    model, operations = Model(config), []
    generator = random.Random(draw(st.integers(0, 1 << 32)))
    for _ in range(LENGTH - draw(st.integers(0, LENGTH))):
        operation = generator.choice(_choices(model, steady))
        model.apply(operation)
        operations.append(operation)
    scenario = Scenario(config, tuple(operations))
    check(scenario)
    note(f"{config}\n" + "\n".join(map(str, operations)))
    return scenario


@dataclass
class Life:
    """One life of a request: how it came, what it emitted, its drafts by position."""

    came: Admit | AdmitDisaggregated
    emitted: list[int] = field(default_factory=list)
    drafts: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def prompt_len(self) -> int:
        return self.came.prompt_len if isinstance(self.came, Admit) else self.came.context_len


def _nothing(engine: Engine) -> None:
    del engine


def play(
    scenario: Scenario, each: Callable[[Engine], None] = _nothing, *, own_drafts: bool = False
) -> tuple[Engine, list[Life]]:
    """Run a scenario, `each` after every operation; return the engine and all lives as they began.

    Tiny models agree by chance alone: unless the drafts are to be the worker's own, as under sampling, they are
    right by turns, so that every accepted count occurs.
    """
    torch.set_grad_enabled(False)
    living: dict[str, Life] = {}

    def by_turns(request: str, position: int, drafts: list[int]) -> list[int]:
        text = greedy_of(request, living[request].prompt_len, LONGEST, scenario.config.recurrent)
        right = list(text[position + 1 : position + 1 + len(drafts)])
        (good,) = hashed_ids(f"{request} at {position}", 1, len(drafts) + 1, 2)
        return right[:good] + [(token + 1) % SHAPE.vocab for token in (right[good:] or drafts[good:])]

    parts = Parts() if own_drafts or scenario.config.sampling else Parts(revise=by_turns)
    engine = Engine(scenario.config, parts, tape_capture, shape=SHAPE)
    session, lives = EmbeddedSession(engine), []
    for operation in scenario.operations:
        if isinstance(operation, (Admit, AdmitDisaggregated)):
            living[operation.request] = Life(operation)
            lives.append(living[operation.request])
        session.apply(operation)
        for request, state in engine.last.requests.items():
            life = living[request]
            life.emitted += state.emitted
            life.drafts[state.position] = state.drafts
        each(engine)
    return engine, lives


def alone(scenario: Scenario, life: Life) -> Life:
    """Return what the request of `life` does by itself, whole and uninterrupted, for as long."""
    came, config = life.came, scenario.config
    if isinstance(came, Admit):
        came = Admit(came.request, came.prompt_len, (), came.cached)
    steps = max(0, len(life.emitted) - 1)
    longest = (config.max_seq_len - life.prompt_len - 1) // (config.draft_len + 1)
    by_itself = Scenario(config, (came, *[Step()] * min(steps, longest)))
    check(by_itself)
    return play(by_itself, own_drafts=True)[1][0]
