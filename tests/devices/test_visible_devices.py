"""Devices compose with an outer CUDA_VISIBLE_DEVICES as CUDA itself reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import cut, gpus

from harness.devices import Device, DeviceError, visible_devices

FOUR = gpus(4)


def seen(devices: tuple[Device, ...], value: str | None) -> list[str]:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    return [device.uuid for device in visible_devices(devices, environment)]


A, B, C, D = (device.uuid for device in FOUR)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, [A, B, C, D]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("2", [C]),
        ("3,0", [D, A]),
        (" 1 , 2 ", [B, C]),
        (B, [B]),
        ("GPU-bb", [B]),
        (f"{C},{A}", [C, A]),
        (f"{C},0", [C]),  # behind a uuid, what is none ends the list
        (f"{A},0,x", [A]),
        ("0,9,1", [A]),
        ("9,1", []),
        ("1,1", []),
        ("1,GPU-b", []),
        ("GPU-", []),
        ("1,,2", [B]),
    ],
)
def test_a_value_shows_what_cuda_would_show_in_its_order(value: str | None, expected: list[str]) -> None:
    assert seen(FOUR, value) == expected


@given(st.permutations(range(4)), st.integers(0, 4))
def test_indices_and_uuids_name_the_same_devices_in_the_same_order(order: list[int], length: int) -> None:
    order = order[:length]
    uuids = [FOUR[index].uuid for index in order]
    assert seen(FOUR, ",".join(map(str, order))) == seen(FOUR, ",".join(uuids)) == uuids


def test_what_is_leased_inside_what_is_leased_is_the_same_again() -> None:
    once = seen(FOUR, "3,1")
    assert seen(FOUR, ",".join(once)) == once


def test_a_gpu_that_is_cut_shows_its_instances_and_is_whole_where_it_is_named() -> None:
    machine = (*cut(FOUR[0], 2), FOUR[1])
    whole, first, second, other = (device.uuid for device in machine)
    assert seen(machine, None) == [first, second, other]
    assert seen(machine, f"{second},{other}") == [second, other]
    assert seen(machine, f"{second},1") == [second]
    assert seen(machine, "0") == [whole]
    assert seen(machine, first[:-1]) == []  # fits both instances


def test_an_old_name_of_an_instance_is_taken_as_it_is() -> None:
    old = Device("MIG-GPU-aaaaaaaa/1/0", 0, parent=FOUR[0].uuid)
    assert seen((FOUR[0], old), old.uuid) == [old.uuid]


def test_indices_are_refused_where_cuda_counts_the_fastest_first() -> None:
    mixed = (Device("GPU-slow", 0, "T4"), Device("GPU-fast", 1, "H100"))
    with pytest.raises(DeviceError, match="PCI_BUS_ID"):
        seen(mixed, "0")
    assert seen(mixed, "GPU-s") == ["GPU-slow"]
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert [device.uuid for device in visible_devices(mixed, ordered)] == ["GPU-slow"]
