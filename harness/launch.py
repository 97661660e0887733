"""The parent's side: runs scenarios on a target in host processes and returns their traces.

One event loop in the calling thread drives all hosts (the kernel ties a host's life to the thread that
started it). A crash or a hang costs its own case; the next one finds a fresh host.
"""

from __future__ import annotations

import importlib.util
import os
import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.errors import LaunchError
from harness.hosts import Host, InlineHost, Job, leased_devices
from harness.legality import check
from harness.protocol import Description, Layout, Request
from harness.scenario import Config, Scenario
from harness.trace import Outcome, Snapshot, Trace, Violation

__all__ = ["ISOLATIONS", "Launcher", "Run", "default_jobs"]

ISOLATIONS = ("fork", "reuse", "none")

_OPENING = -1  # an operation's index for what happens before the first one

# Judges a snapshot as soon as it is there; what it returns stops the run unless it is to go on.
Watch = Callable[[Snapshot], Sequence[Violation]]


@dataclass(frozen=True)
class Run:
    """One scenario to run. `watch` judges its snapshots; `keep_going` lets it run on past violations.

    `probes` lets the host write canaries and poison; without them the engine is left as it is.
    """

    scenario: Scenario
    watch: Watch = field(default=lambda _: ())
    faults: tuple[str, ...] = ()
    keep_going: bool = False
    probes: bool = True


def default_jobs(device: str) -> int:
    """Return how many hosts work side by side: one a core, one on a GPU."""
    if device.startswith("cuda"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Launcher:
    """Runs scenarios on one target. A context manager: leaving it ends every host.

    isolation  "fork": a fork a case from a process that imported torch and ran nothing (default on a CPU);
               "reuse": one process serves cases until one breaks it (default on CUDA); "none": this very
               process, for a debugger.
    limit      seconds that one operation may take before the case counts as hung.
    """

    def __init__(
        self,
        target: str = "embedded",
        device: str = "cpu",
        *,
        source: str = "",
        isolation: str | None = None,
        jobs: int | None = None,
        limit: float = 60.0,
    ) -> None:
        self.target, self.device, self.source = target, device, source
        self.isolation = isolation or ("reuse" if device.startswith("cuda") else "fork")
        self._jobs = 1 if self.isolation == "none" else jobs or default_jobs(device)
        self._limit = limit
        self._hosts: list[Host] = []
        self._layouts: dict[Config, dict[str, Layout]] = {}

    def __enter__(self) -> Launcher:
        if importlib.util.find_spec("torch") is None:
            raise LaunchError(
                "torch is not installed, so no worker can be launched: install 'specdec-harness[run]'"
            )
        self._ready_hosts()
        return self

    def __exit__(self, *_: object) -> None:
        self.end_hosts()

    def end_hosts(self) -> None:
        """End every host, and with it what it keeps on a device; the next run starts others."""
        for host in self._hosts:
            host.close()
        self._hosts = []

    def _ready_hosts(self) -> None:
        """Start the hosts that are missing; none stays that was started under other devices than now."""
        if any(host.devices != leased_devices() for host in self._hosts):
            self.end_hosts()
        while self.isolation != "none" and len(self._hosts) < self._jobs:
            self._hosts.append(Host(self.isolation, self.source))

    def describe(self) -> Description:
        """Ask the target what it is and can do."""
        (job,) = self._drive([Job(self._request("describe"), self._limit)])
        if job.description is None:
            raise LaunchError(f"target {self.target}: {job.failure()}", job.told())
        return job.description

    def run(self, run: Run, *, fresh: bool = False) -> Trace:
        """Run one scenario and return its trace; `fresh` insists on a process that served nothing before."""
        if fresh and self.isolation == "reuse":
            self.end_hosts()
        ((_, trace),) = self.run_all([run])
        return trace

    def run_all(self, runs: Iterable[Run]) -> Iterator[tuple[int, Trace]]:
        """Run many, several at a time; yield (position, trace) as they end.

        Every scenario is checked before anything runs: `IllegalScenarioError` names the first bad operation.
        """
        listed = list(runs)
        for run in listed:
            check(run.scenario)
        self._find_layouts(listed)
        jobs = [self._job(index, run) for index, run in enumerate(listed)]
        for job in self._drive(jobs):
            assert job.trace is not None
            if job.trace.outcome is Outcome.ERROR and job.trace.at == _OPENING:
                raise LaunchError(f"target {self.target} cannot be opened: {job.failure()}", job.told())
            yield job.index, job.trace

    def _job(self, index: int, run: Run) -> Job:
        layout = self._layouts[_layout_key(run.scenario.config)]
        request = self._request("run", faults=run.faults, scenario=run.scenario, layout=layout, probes=run.probes)
        trace = Trace(run.scenario, self.target, self.device)
        return Job(request, self._limit, index, trace, run.watch, run.keep_going)

    def _request(
        self,
        kind: str,
        *,
        faults: tuple[str, ...] = (),
        scenario: Scenario | None = None,
        layout: dict[str, Layout] | None = None,
        probes: bool = True,
    ) -> Request:
        return Request(
            kind, self.target, self.device, self.source, faults, scenario, layout or {},
            # A fork may run ahead of the parent's verdict; a process that others share may not.
            lockstep=self.isolation != "fork", probes=probes,
        )  # fmt: skip

    def _find_layouts(self, runs: Sequence[Run]) -> None:
        """Open the target with other capacities, once for each shape of rows, to learn where its rows are."""
        missing = {_layout_key(run.scenario.config): run.scenario for run in runs}
        jobs = [
            Job(self._request("layout", scenario=scenario), self._limit)
            for key, scenario in missing.items()
            if key not in self._layouts
        ]
        for job in self._drive(jobs):
            assert job.request.scenario is not None
            unsupported = job.outcome() is Outcome.UNSUPPORTED
            if (
                unsupported and job.end is not None and job.end.at is None
            ):  # not this target alone: no device at all
                raise LaunchError(f"target {self.target} cannot run on {self.device}: {job.failure()}")
            if job.layout is None and not unsupported:
                raise LaunchError(f"target {self.target} cannot be opened: {job.failure()}", job.told())
            # What is unsupported is said again, with its operation, by the run itself.
            self._layouts[_layout_key(job.request.scenario.config)] = job.layout or {}

    def _drive(self, jobs: Sequence[Job]) -> Iterator[Job]:
        if self.isolation == "none":
            yield from map(InlineHost().run, jobs)
            return
        self._ready_hosts()
        waiting = list(reversed(jobs))
        try:
            yield from self._multiplex(waiting)
        finally:
            for host in self._hosts:
                host.abandon()  # only where an error or the caller cut the loop short

    def _multiplex(self, waiting: list[Job]) -> Iterator[Job]:
        with selectors.DefaultSelector() as selector:
            while waiting or any(host.job for host in self._hosts):
                self._start(waiting)
                busy = [host for host in self._hosts if host.job]
                for host in busy:
                    selector.register(host.socket, selectors.EVENT_READ, host)
                soonest = min(host.deadline for host in busy)
                ready = selector.select(max(0.0, soonest - time.monotonic()))
                for host in busy:
                    selector.unregister(host.socket)
                for key, _ in ready:
                    yield from _done(key.data, key.data.feed())
                for host in busy:
                    if host.job and time.monotonic() >= host.deadline:
                        yield from _done(host, host.stop_hung())

    def _start(self, waiting: list[Job]) -> None:
        for index, host in enumerate(self._hosts):
            if waiting and not host.job:
                if host.dead:
                    host.close()
                    self._hosts[index] = host = Host(self.isolation, self.source)
                host.begin(waiting.pop())


def _layout_key(config: Config) -> Config:
    # Capacities are what a layout is found by; all the rest may shape a row (pages a slot, draft lengths).
    return replace(config, num_seq_slots=1, max_num_requests=1, buckets=())


def _done(host: Host, finished: bool) -> Iterator[Job]:
    if finished:
        job, host.job = host.job, None
        assert job is not None
        yield job
