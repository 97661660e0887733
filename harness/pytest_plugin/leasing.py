"""Devices for tests: `@pytest.mark.gpus(n)` leases n of them for as long as the test runs.

The lease is taken around everything that a test does, its time limit included: waiting for a device is no part of
the test's time. Workers of xdist, and other runs on the machine, compete by the locks alone.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping

import pytest

from harness.devices import DeviceError, Lease, Lender, LockFolder, detect_inventory, lock_folder
from harness.pytest_plugin.words import UNSUPPORTED

__all__ = [
    "DeviceMemoryWarning",
    "on_lease_end",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
]

_LENDER = pytest.StashKey[Lender]()
_CLOSERS = pytest.StashKey[list[Callable[[], None]]]()
_LEASE = pytest.StashKey[Lease]()
_REFUSED = pytest.StashKey["_RefusedError"]()


class DeviceMemoryWarning(pytest.PytestWarning):
    """A test left memory of a device behind. It is told by the next test that leases the device."""


class _RefusedError(Exception):
    """Why a test runs without the devices that it asks for; `unsupported` where they can never be there."""

    def __init__(self, reason: str, *, unsupported: bool = False) -> None:
        super().__init__(reason)
        self.unsupported = unsupported


def on_lease_end(config: pytest.Config, close: Callable[[], None]) -> None:
    """Call `close` before each lease ends: whatever keeps memory of a device ends its processes there."""
    config.stash.setdefault(_CLOSERS, []).append(close)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hold the devices that a test asks for around all that it does."""
    with contextlib.ExitStack() as held:
        try:
            count = _count(item)
            if count and not item.get_closest_marker("skip"):
                item.stash[_LEASE] = held.enter_context(_leased(item, count))
        except _RefusedError as refused:
            item.stash[_REFUSED] = refused
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test that has not got its devices; tell what the tests before it left on them."""
    refused = item.stash.get(_REFUSED, None)
    if refused is not None and refused.unsupported:
        pytest.skip(f"{UNSUPPORTED}{refused}")
    if refused is not None:
        pytest.fail(str(refused), pytrace=False)
    lease = item.stash.get(_LEASE, None)
    if lease is not None and lease.leaks:
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # never an error: it is not this test's fault
            for leak in lease.leaks:
                warnings.warn(DeviceMemoryWarning(str(leak)), stacklevel=1)


def _count(item: pytest.Item) -> int:
    """Return how many devices a test asks for. Raises `_RefusedError` for a mark that says no number."""
    marker = item.get_closest_marker("gpus")
    if marker is not None:
        values = (*marker.args, *marker.kwargs.values())
        if len(values) != 1 or type(values[0]) is not int or values[0] < 1 or set(marker.kwargs) - {"n"}:
            raise _RefusedError(
                f"gpus(n) takes one whole number from 1, not {', '.join(map(repr, values)) or 'nothing'}"
            )
        return int(values[0])
    # A reproducer's hosts need one. Where there is none, the launcher says so, and the run ends.
    launched = "launcher" in getattr(item, "fixturenames", ())
    on_gpu = item.config.getoption("--device", default=None) == "cuda"
    return int(launched and on_gpu and not _lender(item.config).shortage(1))


def _lender(config: pytest.Config) -> Lender:
    if _LENDER not in config.stash:
        try:
            limit = config.getoption("--gpu-memory-wait")
            config.stash[_LENDER] = Lender(detect_inventory(), LockFolder(lock_folder()), memory_limit=limit)
        except DeviceError as error:
            raise _RefusedError(str(error)) from None
    return config.stash[_LENDER]


@contextlib.contextmanager
def _leased(item: pytest.Item, count: int) -> Iterator[Lease]:
    lender = _lender(item.config)
    if reason := lender.shortage(count):
        raise _RefusedError(reason, unsupported=True)
    try:
        lease = lender.lease(count, item.nodeid, item.config.getoption("--gpu-wait"))
    except DeviceError as error:
        raise _RefusedError(str(error)) from None
    with _environment(lease.environment):
        try:
            yield lease
        finally:
            for close in item.config.stash.get(_CLOSERS, ()):
                close()
            lease.end()


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
