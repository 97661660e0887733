"""An engine's Triton kernels on a CPU: in Triton's interpreter, each launch an operation that a tape can replay.

Compiled kernels store out of bounds in silence. The interpreter would too, so every address that a launch loads
or stores is looked up among the tensors that it was given, by themselves or as a table of addresses; one that lies
in none of them raises.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from harness.targets.common.interpreter import quicken

__all__ = ["OutOfBoundsError", "interpret_kernels", "point_at"]

_LANGUAGE = ("triton.language.random", "triton.language.standard")

_launches: list[Callable[[], None]] = []
_bounds: list[list[tuple[int, int]]] = []
_pointed: Callable[[], Iterable[torch.Tensor]] = tuple
_library: torch.library.Library | None = None


class OutOfBoundsError(RuntimeError):
    """A kernel loaded or stored where none of its arguments has memory."""


def point_at(tensors: Callable[[], Iterable[torch.Tensor]]) -> None:
    """Say which tensors kernels of the present session reach through tables of addresses (uint64 tensors)."""
    global _pointed
    _pointed = tensors


def interpret_kernels(modules: tuple[str, ...]) -> None:
    """Let the loaded engine launch its kernels on CPU tensors. Once a process, after its modules are imported.

    `modules` are prefixes of those that define kernels.
    """
    global _library
    if _library is not None:
        return
    import triton
    from triton.runtime import interpreter, jit

    _library = torch.library.Library("harness_triton", "DEF")
    _library.define("launch(Tensor(a!)[] tensors, int number) -> ()")
    _library.impl("launch", _relaunch, "CompositeExplicitAutograd")
    run = interpreter.GridExecutor.__call__

    def launch(self: Any, *args: Any, **kwargs: Any) -> None:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]

        def bounded() -> None:
            _bounds.append([_extent(tensor) for tensor in (*tensors, *_by_address(tensors))])
            try:
                run(self, *args, **kwargs)
            except interpreter.InterpreterError as error:
                raise _raised(error, interpreter.InterpreterError, self.fn.__name__) from None
            finally:
                _bounds.pop()

        if _get_current_dispatch_mode() is None:
            bounded()
            return
        _launches.append(bounded)
        torch.ops.harness_triton.launch(tensors, len(_launches) - 1)

    interpreter.GridExecutor.__call__ = launch
    _bound(interpreter.InterpreterBuilder)
    quicken(interpreter, triton.__version__)
    _rewrite_kernels(interpreter, (*modules, *_LANGUAGE))
    jit.mangle_type(0)  # imports what a launch's first argument would, in each fork


def _raised(error: BaseException, wrapper: type[Exception], kernel: str) -> BaseException:
    """Return what was raised in a kernel, which the interpreter wraps once a function that the kernel called."""
    while isinstance(error, wrapper) and error.__cause__ is not None:
        error = error.__cause__
    return OutOfBoundsError(f"{kernel}: {error}") if isinstance(error, OutOfBoundsError) else error


def _by_address(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Return what the tables of addresses among a launch's arguments point at."""
    addresses = {
        int(value) for table in tensors if table.dtype == torch.uint64 for value in table.view(torch.int64)
    }
    return [tensor for tensor in _pointed() if tensor.data_ptr() in addresses] if addresses else []


def _rewrite_kernels(interpreter: Any, prefixes: tuple[str, ...]) -> None:
    """Let the interpreter translate the engine's kernels here, before any fork would do so for itself."""
    for name, module in list(sys.modules.items()):
        if name.startswith(prefixes):
            for value in list(vars(module).values()):
                if isinstance(value, interpreter.InterpretedFunction):
                    rewritten = value.rewrite()
                    rewritten.__signature__ = inspect.signature(rewritten)  # asked for at every launch


def _relaunch(_tensors: list[torch.Tensor], number: int) -> None:
    """Launch again what was launched under this number: while it is recorded, and in every replay."""
    _launches[number]()


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _bound(builder: Any) -> None:
    load, store = builder.create_masked_load, builder.create_masked_store

    def checked_load(self: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
        _check(ptrs, mask, "loaded")
        return load(self, ptrs, mask, *rest)

    def checked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        _check(ptrs, mask, "stored")
        return store(self, ptrs, value, mask, *rest)

    builder.create_masked_load, builder.create_masked_store = checked_load, checked_store


def _check(ptrs: Any, mask: Any, did: str) -> None:
    import numpy as np

    addresses = ptrs.data
    if not mask.data.all():
        addresses = addresses[np.broadcast_to(mask.data, addresses.shape).astype(bool)]
    if not _bounds or addresses.size == 0:
        return
    low, high = int(addresses.min()), int(addresses.max())
    if any(start <= low and high < end for start, end in _bounds[-1]):  # nearly always: one tensor's
        return
    inside = np.zeros(addresses.shape, dtype=bool)
    for start, end in _bounds[-1]:
        inside |= (addresses >= start) & (addresses < end)
    if not inside.all():
        raise OutOfBoundsError(f"{did} out of bounds: {int((~inside).sum())} addresses in no argument")
