"""What CUDA itself shows in this process, through the driver alone: `cuda_probe.py [MIB]`.

Prints the uuids of the visible devices, one line. With MIB it first allocates that much on the first one, and
keeps it until its standard input ends.
"""

from __future__ import annotations

import ctypes
import sys
import uuid


def check(status: int) -> None:
    assert status == 0, f"CUDA driver: error {status}"


def visible(cuda: ctypes.CDLL) -> list[str]:
    if cuda.cuInit(0) in (100, 101):  # no device, or the variable names one that is none
        return []
    count = ctypes.c_int()
    check(cuda.cuDeviceGetCount(ctypes.byref(count)))
    found = []
    for index in range(count.value):
        name = (ctypes.c_ubyte * 16)()
        check(cuda.cuDeviceGetUuid_v2(ctypes.byref(name), index))
        found.append(f"GPU-{uuid.UUID(bytes=bytes(name))}")
    return found


def keep(cuda: ctypes.CDLL, mib: int) -> None:
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(mib << 20)))


def main() -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    devices = visible(cuda)
    if len(sys.argv) > 1:
        keep(cuda, int(sys.argv[1]))
    sys.stdout.write(",".join(devices) + "\n")
    sys.stdout.flush()
    if len(sys.argv) > 1:
        sys.stdin.read()


if __name__ == "__main__":
    main()
