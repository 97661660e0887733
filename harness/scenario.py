"""A scenario: a configuration and a list of operations, as plain data.

Only the standard library is used here: a host may be another interpreter with nothing but torch.
Whether a scenario is legal is decided in `harness.legality`; files are read by `harness.scenario_file`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

__all__ = [
    "OPERATIONS",
    "WEIGHTS",
    "WORKERS",
    "Abort",
    "Admit",
    "AdmitDisaggregated",
    "Capture",
    "Config",
    "DraftLen",
    "Finish",
    "Idle",
    "Operation",
    "Preempt",
    "Prefill",
    "Rebind",
    "Resume",
    "Scenario",
    "Step",
    "Warmup",
]

WORKERS = ("dflash", "dspark")
WEIGHTS = ("", "trained")

_OPTION = {"option": True}  # off in most configurations, and not written there


@dataclass(frozen=True)
class Config:
    """What an engine is opened with. Counts are numbers of requests, lengths are tokens.

    `num_seq_slots` 0 means unset: the engine falls back to `max_num_requests`.

    Options, each off by default:
    sampling   drafts are accepted by rejection sampling, lossless in distribution, instead of greedily.
    overlap    a request of the last step that ends keeps its seat until the next step is prepared; at most
               `max_num_requests` requests run at once, and the seats beyond them are the head-room.
    page_size  tokens of a page of the target's context; 0: a dense row a seat.
    recurrent  the target keeps a small recurrent state a seat beside its keys and values.
    verify     drafts verified a step by all its requests together, the surest first; 0: every draft.
    weights    "trained": models that were trained, so that drafts are accepted; "": any ones, made from `seed`.
    """

    worker: str
    num_seq_slots: int
    max_num_requests: int
    buckets: tuple[int, ...]
    draft_len: int = 3
    max_seq_len: int = 64
    seed: int = 0
    sampling: bool = field(default=False, metadata=_OPTION)
    overlap: bool = field(default=False, metadata=_OPTION)
    page_size: int = field(default=0, metadata=_OPTION)
    recurrent: bool = field(default=False, metadata=_OPTION)
    verify: int = field(default=0, metadata=_OPTION)
    weights: str = field(default="", metadata=_OPTION)

    @property
    def seats(self) -> int:
        """The capacity that every slot pool must span: `num_seq_slots`, or its fallback."""
        return self.num_seq_slots or self.max_num_requests

    @property
    def running_limit(self) -> int:
        """How many requests may hold a seat and not be ending: with `overlap`, the rest is head-room."""
        return self.max_num_requests if self.overlap else self.seats

    @property
    def pages_per_seat(self) -> int:
        """Pages of the longest context, the rows of rejected drafts included; 0 without `page_size`."""
        return -(-(self.max_seq_len + self.draft_len + 1) // self.page_size) if self.page_size else 0

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that are on."""
        return tuple(f.name for f in fields(self) if f.metadata.get("option") and getattr(self, f.name))


class _Operation:
    """Shared by all operations: its name in files and its text in reports."""

    name: ClassVar[str]

    def __str__(self) -> str:
        shown = [
            f"{each.name}={_text(value)}"
            for each in fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
            if (value := getattr(self, each.name)) is not None and value != ()
        ]
        return f"{self.name}({', '.join(shown)})"


def _text(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, repr=False)
class Capture(_Operation):
    """Capture the graph of one bucket (with the engine's own warm-up of that graph before it)."""

    name: ClassVar[str] = "capture"
    bucket: int


@dataclass(frozen=True, repr=False)
class Warmup(_Operation):
    """A forward of dummy requests that is not captured: in a bucket's shape, or the engine's eager one."""

    name: ClassVar[str] = "warmup"
    bucket: int | None = None


@dataclass(frozen=True, repr=False)
class Admit(_Operation):
    """Give a request a seat and prefill its prompt, whole or in chunks of the given lengths.

    `cached` tokens at its start are a prefix hit: the engine has them, the drafter never sees their states.
    With `pause` only the first chunk runs now, and each `Prefill` runs the next one.
    """

    name: ClassVar[str] = "admit"
    request: str
    prompt_len: int
    chunks: tuple[int, ...] = ()
    cached: int | None = None
    pause: bool | None = None


@dataclass(frozen=True, repr=False)
class Prefill(_Operation):
    """Run the next chunk of a request whose prefill is paused; after the last one it can take steps."""

    name: ClassVar[str] = "prefill"
    request: str


@dataclass(frozen=True, repr=False)
class AdmitDisaggregated(_Operation):
    """Give a request a seat whose context was computed elsewhere: this worker never saw its prefill."""

    name: ClassVar[str] = "admit_disaggregated"
    request: str
    context_len: int


@dataclass(frozen=True, repr=False)
class Step(_Operation):
    """One decode step of the named running requests (None: all), padded to the smallest fitting bucket.

    `graph` None replays a captured graph where one fits, True insists on it, False runs eagerly.
    """

    name: ClassVar[str] = "step"
    requests: tuple[str, ...] | None = None
    graph: bool | None = None


@dataclass(frozen=True, repr=False)
class Finish(_Operation):
    """The request ended by itself; its seat is given back."""

    name: ClassVar[str] = "finish"
    request: str


@dataclass(frozen=True, repr=False)
class Abort(_Operation):
    """The request was cancelled from outside; its seat is given back."""

    name: ClassVar[str] = "abort"
    request: str


@dataclass(frozen=True, repr=False)
class Preempt(_Operation):
    """Take a running request's seat away; it may be resumed."""

    name: ClassVar[str] = "preempt"
    request: str


@dataclass(frozen=True, repr=False)
class Resume(_Operation):
    """Give a preempted request a seat again and rebuild its state."""

    name: ClassVar[str] = "resume"
    request: str


@dataclass(frozen=True, repr=False)
class Idle(_Operation):
    """A step in which this rank has no request; `dp_dummy` says whether it runs a data-parallel dummy."""

    name: ClassVar[str] = "idle"
    dp_dummy: bool = False


@dataclass(frozen=True, repr=False)
class Rebind(_Operation):
    """Replace the memory that the drafter's cache lives in, as when an engine swaps its cache manager.

    What requests have there must survive; graphs captured before are void.
    """

    name: ClassVar[str] = "rebind"


@dataclass(frozen=True, repr=False)
class DraftLen(_Operation):
    """Set the runtime draft length, from 0 to the configured one."""

    name: ClassVar[str] = "draft_len"
    k: int


Operation = (
    Capture
    | Warmup
    | Admit
    | Prefill
    | AdmitDisaggregated
    | Step
    | Finish
    | Abort
    | Preempt
    | Resume
    | Idle
    | DraftLen
    | Rebind
)

OPERATIONS: dict[str, type[Operation]] = {
    operation.name: operation
    for operation in (
        Capture, Warmup, Admit, Prefill, AdmitDisaggregated, Step, Finish, Abort, Preempt, Resume, Idle, DraftLen,
        Rebind,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A configuration and what is done with it. `name` is for people; it carries no meaning."""

    config: Config
    operations: tuple[Operation, ...]
    name: str = ""

    @property
    def capture_order(self) -> tuple[int, ...]:
        """Buckets in the order in which they are captured."""
        return tuple(op.bucket for op in self.operations if isinstance(op, Capture))

    def to_data(self) -> dict[str, Any]:
        """Return plain data (dict, list, str, int, bool) from which `scenario_file` reads this scenario."""
        data: dict[str, Any] = {"name": self.name} if self.name else {}
        data["config"] = _plain(self.config)
        data["operations"] = [{op.name: _plain(op)} for op in self.operations]
        return data


def _plain(record: Any) -> dict[str, Any]:
    values = {each.name: (getattr(record, each.name), each) for each in fields(record)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, (value, each) in values.items()
        # A number is written though it is the default; an option that is off is not.
        if not (value == each.default and (value in (None, ()) or each.metadata.get("option")))
    }
