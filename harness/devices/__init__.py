"""GPUs, and leases of them: who uses which, across all processes of a machine. Nothing here imports torch."""

from harness.devices.clock import Clock
from harness.devices.detect import detect_inventory
from harness.devices.folder import lock_folder
from harness.devices.lending import Lease, Lender
from harness.devices.locks import LockFolder
from harness.devices.model import Device, DeviceError, Inventory, NoDevices
from harness.devices.queue import Queue
from harness.devices.records import Leak, Record
from harness.devices.visible import visible_devices

__all__ = [
    "Clock",
    "Device",
    "DeviceError",
    "Inventory",
    "Leak",
    "Lease",
    "Lender",
    "LockFolder",
    "NoDevices",
    "Queue",
    "Record",
    "detect_inventory",
    "lock_folder",
    "visible_devices",
]
