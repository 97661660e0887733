"""The pure model of what is legal: which operation may come next, and why another may not.

An illegal scenario is refused before anything runs. The random search draws from the same model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.errors import UsageError
from harness.scenario import (
    WEIGHTS,
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

__all__ = ["IllegalScenarioError", "Model", "check", "config_problem"]


class IllegalScenarioError(UsageError):
    """A scenario asks for something no engine may be asked. `index` is the operation's, None the config's."""

    def __init__(self, why: str, index: int | None = None, operation: Operation | None = None) -> None:
        where = "config" if index is None else f"operation {index}, {operation}"
        super().__init__(f"{where}: {why}")
        self.index = index
        self.why = why


def check(scenario: Scenario) -> None:
    """Raise `IllegalScenarioError` for the first thing in `scenario` that is not legal."""
    why = config_problem(scenario.config)
    if why:
        raise IllegalScenarioError(why)
    model = Model(scenario.config)
    for index, operation in enumerate(scenario.operations):
        why = model.problem(operation)
        if why:
            raise IllegalScenarioError(why, index, operation)
        model.apply(operation)


def config_problem(config: Config) -> str | None:
    """Return why no engine can be opened with `config`, or None."""
    checks = [
        (config.worker in WORKERS, f"worker must be one of {', '.join(WORKERS)}, not {config.worker!r}"),
        (config.num_seq_slots >= 0, "num_seq_slots must be 0 (unset) or more"),
        (config.max_num_requests >= 1, "max_num_requests must be at least 1"),
        (config.max_num_requests <= config.seats,
         f"max_num_requests {config.max_num_requests} exceeds the {config.seats} seats"),
        (config.draft_len >= 1, "draft_len must be at least 1"),
        (config.max_seq_len >= config.draft_len + 2, "max_seq_len leaves no room for one step"),
        (len(set(config.buckets)) == len(config.buckets), "buckets must differ from each other"),
        (all(1 <= b <= config.max_num_requests for b in config.buckets),
         f"buckets must lie between 1 and max_num_requests, {config.max_num_requests}"),
        *_option_checks(config),
    ]  # fmt: skip
    return next((why for holds, why in checks if not holds), None)


def _option_checks(config: Config) -> list[tuple[bool, str]]:
    needed = 2 * config.max_num_requests
    return [
        (not config.overlap or config.seats >= needed,
         f"overlap needs a second seat for each of a batch's requests that is ending, {needed}, "
         f"not {config.seats}"),
        (config.page_size >= 0, "page_size must be 0 (dense rows) or more"),
        (config.verify >= 0, "verify must be 0 (every draft) or more"),
        (not config.verify or config.worker == "dspark", "verify needs confidences, which dspark alone has"),
        (config.weights in WEIGHTS, f"weights must be trained, or left out, not {config.weights!r}"),
    ]  # fmt: skip


@dataclass
class Model:
    """What must be known of an engine to say what may come next. Nothing of any target is in it.

    captured  buckets with the draft length they were captured at: a graph serves that one alone.
    running   requests that hold a seat, in the order in which they got it.
    chunks_left  chunks still to run of each request whose prefill is paused; it takes no steps yet.
    reach     the longest each running or preempted request can be by now: every draft accepted.
    """

    config: Config
    draft_len: int = -1
    captured: set[tuple[int, int]] = field(default_factory=set)
    running: list[str] = field(default_factory=list)
    chunks_left: dict[str, int] = field(default_factory=dict)
    preempted: set[str] = field(default_factory=set)
    reach: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.draft_len < 0:
            self.draft_len = self.config.draft_len

    def batch(self, step: Step) -> tuple[str, ...]:
        """Return the requests of a step in batch order: as named, or all that can take one as seated."""
        if step.requests is not None:
            return step.requests
        return tuple(request for request in self.running if request not in self.chunks_left)

    def problem(self, operation: Operation) -> str | None:
        """Return why `operation` may not come next, or None."""
        check_one = getattr(self, f"_problem_{operation.name}", None)
        return check_one(operation) if check_one else None

    def apply(self, operation: Operation) -> None:
        """Move on by an operation that `problem` found legal."""
        if isinstance(operation, Capture):
            self.captured.add((operation.bucket, self.draft_len))
        elif isinstance(operation, Rebind):
            self.captured.clear()
        elif isinstance(operation, DraftLen):
            self.draft_len = operation.k
        elif isinstance(operation, (Admit, AdmitDisaggregated)):
            self.running.append(operation.request)
            length = operation.prompt_len if isinstance(operation, Admit) else operation.context_len
            self.reach[operation.request] = length + 1  # the prefill yields the first token
            if isinstance(operation, Admit) and operation.pause:
                self.chunks_left[operation.request] = len(operation.chunks) - 1
        elif isinstance(operation, Prefill):
            self._prefill(operation.request)
        elif isinstance(operation, Step):
            for request in self.batch(operation):
                self.reach[request] += self.draft_len + 1
        elif not isinstance(operation, (Warmup, Idle)):
            self._move(operation)

    def _prefill(self, request: str) -> None:
        self.chunks_left[request] -= 1
        if not self.chunks_left[request]:
            del self.chunks_left[request]

    def _move(self, operation: Finish | Abort | Preempt | Resume) -> None:
        request = operation.request
        if isinstance(operation, Resume):
            self.preempted.discard(request)
            self.running.append(request)
            return
        if request in self.running:
            self.running.remove(request)
        self.preempted.discard(request)
        if isinstance(operation, Preempt):
            self.preempted.add(request)
        else:
            del self.reach[request]
            self.chunks_left.pop(request, None)

    def _problem_capture(self, operation: Capture) -> str | None:
        if (operation.bucket, self.draft_len) in self.captured:
            return f"bucket {operation.bucket} is captured already"
        return self._unknown_bucket(operation.bucket)

    def _problem_warmup(self, operation: Warmup) -> str | None:
        return None if operation.bucket is None else self._unknown_bucket(operation.bucket)

    def _unknown_bucket(self, bucket: int) -> str | None:
        if bucket in self.config.buckets:
            return None
        return f"bucket {bucket} is not one of the configured {list(self.config.buckets)}"

    def _problem_admit(self, operation: Admit) -> str | None:
        cached, chunks = operation.cached or 0, operation.chunks
        if not 0 <= cached < max(operation.prompt_len, 1):
            return f"cached {cached} leaves nothing of prompt_len {operation.prompt_len} to compute"
        if chunks and (sum(chunks) != operation.prompt_len - cached or min(chunks) < 1):
            hit = f" less cached {cached}" if cached else ""
            return f"chunks {list(chunks)} do not add up to prompt_len {operation.prompt_len}{hit}"
        if operation.pause and len(chunks) < 2:
            return "pause needs at least two chunks: one now, the others by prefill"
        return self._admission(operation.request, operation.prompt_len)

    def _problem_prefill(self, operation: Prefill) -> str | None:
        request = operation.request
        if request not in self.running:
            return f"request {request!r} is not running"
        return None if request in self.chunks_left else f"request {request!r} has no chunk left to prefill"

    def _problem_admit_disaggregated(self, operation: AdmitDisaggregated) -> str | None:
        return self._admission(operation.request, operation.context_len)

    def _admission(self, request: str, length: int) -> str | None:
        if request in self.reach:
            return f"request {request!r} is admitted already"
        if length < 1:
            return "a prompt has at least one token"
        if length + 1 > self.config.max_seq_len:
            return f"{length} prompt tokens and the first new one exceed max_seq_len {self.config.max_seq_len}"
        return self._full()

    def _full(self) -> str | None:
        limit = self.config.running_limit
        what = "places of a batch" if self.config.overlap else "seats"
        return f"all {limit} {what} are taken" if len(self.running) >= limit else None

    def _problem_step(self, operation: Step) -> str | None:
        batch = self.batch(operation)
        if not batch:
            return "a step needs at least one running request"
        if len(set(batch)) < len(batch):
            return "a request is named twice"
        strangers = [request for request in batch if request not in self.running]
        if strangers:
            return f"request {strangers[0]!r} is not running"
        unready = [request for request in batch if request in self.chunks_left]
        if unready:
            return f"request {unready[0]!r} has chunks left to prefill"
        return self._too_many(len(batch)) or self._no_graph(operation, len(batch)) or self._too_long(batch)

    def _too_many(self, count: int) -> str | None:
        limit = self.config.max_num_requests
        return f"{count} requests exceed max_num_requests {limit}" if count > limit else None

    def _no_graph(self, operation: Step, count: int) -> str | None:
        if operation.graph and not any(b >= count and k == self.draft_len for b, k in self.captured):
            return f"no captured bucket holds {count} requests"
        return None

    def _too_long(self, batch: tuple[str, ...]) -> str | None:
        for request in batch:
            if self.reach[request] + self.draft_len + 1 > self.config.max_seq_len:
                return f"request {request!r} may pass max_seq_len {self.config.max_seq_len} in this step"
        return None

    def _problem_finish(self, operation: Finish) -> str | None:
        request = operation.request
        if request in self.chunks_left:
            return f"request {request!r} has chunks left to prefill; it can only be aborted"
        return self._absent(request)

    def _problem_abort(self, operation: Abort) -> str | None:
        return self._absent(operation.request)

    def _absent(self, request: str) -> str | None:
        return None if request in self.reach else f"request {request!r} was never admitted or has ended"

    def _problem_preempt(self, operation: Preempt) -> str | None:
        return None if operation.request in self.running else f"request {operation.request!r} is not running"

    def _problem_resume(self, operation: Resume) -> str | None:
        if operation.request not in self.preempted:
            return f"request {operation.request!r} is not preempted"
        return self._full()

    def _problem_draft_len(self, operation: DraftLen) -> str | None:
        limit = self.config.draft_len
        return None if 0 <= operation.k <= limit else f"k must lie between 0 and draft_len, {limit}"
