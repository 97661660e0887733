"""The session loop: open a target, apply each operation, show the state, stop when told to."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from harness.errors import HarnessError
from harness.host.digests import Digests
from harness.host.graphs import capture_for
from harness.host.introspect import find_layout
from harness.host.observe import Observer
from harness.host.probes import CanaryProbe, FreshProbe, poison_graph_inputs
from harness.protocol import Description, End, Reply, Request, changes
from harness.scenario import (
    Admit,
    AdmitDisaggregated,
    Idle,
    Operation,
    Prefill,
    Resume,
    Step,
)
from harness.targets import Session, Target, UnsupportedError, load_target
from harness.targets.base import Inspection, OpenOptions, Sourced
from harness.trace import Outcome, Snapshot

__all__ = ["serve_request"]

_HARNESS = str(Path(__file__).parents[1])
_TORCH = str(Path(torch.__file__).parent)
_TRACEBACK_TAIL = 8000  # characters of a traceback that travel

# What runs a forward for requests of the scenario's, before which rows that are nobody's are filled. Requests that
# an engine makes up for its warm-up may take such rows and give them back.
_FORWARDS = (Admit, AdmitDisaggregated, Idle, Prefill, Resume, Step)
_BATCHES = (Idle, Step)  # whose graph inputs are written anew

# Takes a reply; says whether to go on.
Emit = Callable[[Reply], bool]


def serve_request(request: Request, emit: Emit) -> bool:
    """Do what `request` asks and emit the replies. Returns False when this process can serve no further one."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)  # tiny tensors; and every order of operations is the same on every machine
    if request.device.startswith("cuda") and not torch.cuda.is_available():
        emit(Reply(end=End(Outcome.UNSUPPORTED, None, f"no CUDA device is visible to torch {torch.__version__}")))
        return True
    target = load_target(request.target)
    if request.kind == "describe":
        _answer(lambda: Reply(description=_describe(target, request.source)), emit)
        return True
    assert request.scenario is not None
    scenario = request.scenario
    watch = _Watch(request)
    options = OpenOptions(
        request.device, capture_for(request.device), request.faults, request.source, watch.acquired
    )
    if request.kind == "layout":
        _answer(lambda: Reply(layout=find_layout(target, scenario.config, options)), emit)
        return True
    end = _run(request, watch, lambda: target.open(scenario.config, options), emit)
    emit(Reply(end=end))
    return not end.stuck


def _describe(target: Target, source: str) -> Description:
    return target.describe_source(source) if source and isinstance(target, Sourced) else target.describe()


def _answer(question: Callable[[], Reply], emit: Emit) -> None:
    """Emit the answer, or why there is none."""
    try:
        reply = question()
    except UnsupportedError as reason:
        reply = Reply(end=End(Outcome.UNSUPPORTED, -1, str(reason)))
    except Exception as error:
        reply = Reply(end=_failure(error, -1, ""))
    emit(reply)


def _run(request: Request, watch: _Watch, open_session: Callable[[], Session], emit: Emit) -> End:
    device = torch.cuda.get_device_name() if request.device.startswith("cuda") else "cpu"
    assert request.scenario is not None
    at = -1
    try:
        session = open_session()
        try:
            emit(Reply(opened=True))
            for at, operation in enumerate(request.scenario.operations):  # read when an operation raises
                watch.before(operation, session)
                try:
                    session.apply(operation)
                except UnsupportedError:
                    raise
                except Exception as error:
                    return replace(_failure(error, at, device), last=watch.last_look(at, session))
                if not emit(watch.after(at, session)):
                    return End(Outcome.OK, at, "stopped", device)
            at = len(request.scenario.operations)
        finally:
            session.close()
    except UnsupportedError as reason:
        return End(Outcome.UNSUPPORTED, at, str(reason), device)
    except Exception as error:
        return _failure(error, at, device)
    return End(Outcome.OK, None, "", device)


def _failure(error: Exception, at: int, device: str) -> End:
    told = "".join(traceback.format_exception(error))
    return replace(_end_of(error, at, device), traceback=told[-_TRACEBACK_TAIL:])


def _end_of(error: Exception, at: int, device: str) -> End:
    if isinstance(error, HarnessError):
        return End(Outcome.ERROR, at, str(error), device)  # written for people: it names its place itself
    detail = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = traceback.extract_tb(error.__traceback__)
    # Where the target's own code raised, if it did: what is below it there is this package's stand-ins.
    theirs = [frame for frame in frames if not frame.filename.startswith((_HARNESS, _TORCH))]
    frame = (theirs or frames)[-1]
    detail += f" [{'/'.join(frame.filename.rsplit('/', 3)[1:])}:{frame.lineno}]"
    if torch.cuda.is_initialized():
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return End(Outcome.CRASH, at, f"sticky CUDA error: {detail}", device, stuck=True)
    return End(Outcome.ERROR, at, detail, device)


class _Watch:
    """Probes and observer of one session."""

    def __init__(self, request: Request) -> None:
        self._observer = Observer(request.layout)
        self._canary = CanaryProbe(request.layout) if request.probes else None
        self._fresh = FreshProbe(request.layout)
        self._seen: Inspection | None = None
        self._digests: Digests = {}
        self._last: Snapshot | None = None

    def acquired(self, pool: str, row: int) -> None:
        """Be told by the target that somebody gets a row, where it tells."""
        self._fresh.acquired(pool, row)

    def before(self, operation: Operation, session: Session) -> None:
        """Write canaries and poison. Nothing happened since the last look at the session."""
        if self._canary is None or not isinstance(operation, _FORWARDS):
            return
        if self._seen is None:
            self._seen = session.inspect()
            self._digests = self._observer.digests(self._seen)
            self._fresh.look(self._seen, 0)
        self._canary.fill(self._seen, self._digests)
        if isinstance(operation, _BATCHES):
            poison_graph_inputs(self._seen)

    def after(self, operation: int, session: Session) -> Reply:
        """Take the snapshot of the operation just done."""
        seen = self._seen = session.inspect()
        digests = self._digests = self._observer.digests(seen)
        findings = self._fresh.look(seen, operation)
        if self._canary is not None:
            findings += self._canary.findings(seen, digests, operation)
        now = self._observer.snapshot(operation, seen, digests, findings)
        self._last, last = now, self._last
        return Reply(snapshot=changes(last, now))

    def last_look(self, operation: int, session: Session) -> Snapshot | None:
        """Return what an operation that raised left behind, without contents; None where nothing can be seen."""
        with contextlib.suppress(Exception):  # the engine is half-way through, and may be unable to say
            return self._observer.snapshot(operation, session.inspect(), {}, [])
        return None
