"""Laws of leases, on drawn machines and drawn orders of asking, waiting, giving back and giving up."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from machines import Machine, cut, gpus

from harness.devices import Clock, Device, Lease, Lender, LockFolder

_OUTER = st.sampled_from([None, "0", "1,2", "GPU-b", "MIG-aaaaaaaa-0", "0,1,2", "2,1"])
_MACHINES = st.sampled_from(
    [gpus(3), (*cut(gpus(3)[0], 2), *gpus(3)[1:]), (*cut(gpus(3)[0], 2), *cut(gpus(3)[1], 3), gpus(3)[2])]
)


class Client:
    """One of many that lease; `wants` are the counts that its cases ask for, one after the other."""

    def __init__(self, lender: Lender, wants: list[int]) -> None:
        self.lender = lender
        self.wants = [count for count in wants if not lender.shortage(count)]
        self.ticket = None if not self.wants else lender.join(self.wants[0], "case")
        self.lease: Lease | None = None

    def move(self) -> bool:
        """Do the next thing; return whether anything changed."""
        if self.lease is not None:
            self.lease.end()
            self.lease = None
            self.wants.pop(0)
            self.ticket = self.lender.join(self.wants[0], "case") if self.wants else None
            return True
        if self.ticket is None:
            return False
        self.lease = self.lender.take(self.ticket)
        return self.lease is not None

    def give_up(self) -> None:
        if self.ticket is not None and self.lease is None:
            self.lender.leave(self.ticket)
            self.ticket, self.wants = None, []


def memory(device: Device) -> set[str]:
    return {device.uuid, *([device.parent] if device.parent else [])}


def check_held_apart(clients: list[Client]) -> None:
    held = [device for client in clients if client.lease for device in client.lease.devices]
    whole = [device.uuid for device in held]
    assert len(set(whole)) == len(whole), "one device held twice"
    assert not {device.parent for device in held} & set(whole), "a GPU and its instance held at once"


def check_all_or_none(clients: list[Client]) -> None:
    for client in clients:
        if client.lease is not None:
            assert len(client.lease.devices) == client.wants[0]
            assert set(client.lease.devices) <= set(client.lender.visible)


@settings(max_examples=60, deadline=None)
@given(
    machine=_MACHINES,
    clients=st.lists(st.tuples(_OUTER, st.lists(st.integers(1, 3), max_size=4)), min_size=2, max_size=5),
    moves=st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30),
)
def test_no_device_is_held_twice_and_a_case_gets_all_or_none_and_everybody_is_served_in_the_end(
    machine: tuple[Device, ...], clients: list[tuple[str | None, list[int]]], moves: list[tuple[int, bool]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        there = [Client(lender(folder, machine, outer), wants) for outer, wants in clients]
        for index, gives_up in moves:
            client = there[index % len(there)]
            client.give_up() if gives_up and index == 0 else client.move()
            check_held_apart(there)
            check_all_or_none(there)
        while sum(client.move() for client in there):  # not any(): everybody moves
            check_held_apart(there)
        assert [client.wants for client in there if client.wants] == []


def lender(folder: str, machine: tuple[Device, ...], outer: str | None = None) -> Lender:
    environment = {} if outer is None else {"CUDA_VISIBLE_DEVICES": outer}
    return Lender(Machine(*machine), LockFolder(Path(folder)), environment, Clock())


def ask(folder: Path, outer: str | None = None) -> Callable[[int], tuple[Lender, Lease | None]]:
    def take(count: int) -> tuple[Lender, Lease | None]:
        mine = lender(str(folder), gpus(3), outer)
        return mine, mine.take(mine.join(count, "case"))

    return take


def test_a_case_that_wants_two_is_not_passed_by_those_that_want_one(tmp_path: Path) -> None:
    clients = [lender(str(tmp_path), gpus(2)) for _ in range(4)]
    first, second = (client.take(client.join(1, "small")) for client in clients[:2])
    assert first is not None
    assert second is not None
    large = clients[2].join(2, "large")
    small = clients[3].join(1, "small again")
    assert clients[2].take(large) is None
    first.end()
    assert clients[3].take(small) is None, "the free device is kept for the case that came before"
    assert clients[2].take(large) is None
    second.end()
    lease = clients[2].take(large)
    assert lease is not None
    lease.end()
    assert clients[3].take(small) is not None


def test_a_device_that_no_earlier_case_can_use_goes_to_a_later_one_at_once(tmp_path: Path) -> None:
    holder = ask(tmp_path, "0")(1)[1]
    assert holder is not None
    waits = lender(str(tmp_path), gpus(3), "0,1")
    ticket = waits.join(2, "large")
    assert waits.take(ticket) is None
    assert ask(tmp_path, "1")(1)[1] is None
    assert ask(tmp_path, "2")(1)[1] is not None


def test_a_whole_gpu_that_is_waited_for_is_not_given_away_in_parts(tmp_path: Path) -> None:
    machine = cut(gpus(1)[0], 2)
    part = lender(str(tmp_path), machine)
    held = part.take(part.join(1, "part"))
    assert held is not None
    whole = lender(str(tmp_path), machine, "0")
    ticket = whole.join(1, "whole")
    assert whole.take(ticket) is None
    other = lender(str(tmp_path), machine)
    later = other.join(1, "other part")
    assert other.take(later) is None
    held.end()
    assert whole.take(ticket) is not None
    assert other.take(later) is None


def test_instances_are_leased_one_at_a_time_since_cuda_shows_a_process_one(tmp_path: Path) -> None:
    mine = lender(str(tmp_path), (*cut(gpus(2)[0], 2), gpus(2)[1]))
    assert mine.shortage(2) == "needs 2 GPUs, and 1 GPU can be used here"
    assert mine.shortage(1) == ""


def test_devices_come_in_the_outer_order(tmp_path: Path) -> None:
    _, lease = ask(tmp_path, "2,0")(2)
    assert lease is not None
    assert lease.environment["CUDA_VISIBLE_DEVICES"] == "GPU-cccccccc,GPU-aaaaaaaa"
