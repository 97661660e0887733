"""A CUDA graph on a CPU: one forward's aten operations, recorded once and replayed on the same storages.

What a real graph freezes is frozen here: Python values, host branches, addresses. As in a real capture,
host reads are refused. What the recorded run changed stays, as a warm-up's changes do on CUDA, or it is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["HostReadError", "tape_capture"]

# Operations that hand a device value, or a size that depends on one, to the host.
_HOST_READS = frozenset({
    "aten::_local_scalar_dense", "aten::is_nonzero", "aten::item", "aten::masked_select", "aten::nonzero",
    "aten::unique_dim", "aten::_unique2", "aten::repeat_interleave.Tensor", "aten::equal",
})  # fmt: skip

_Call = Callable[[], Any]
_Run = Callable[..., Any]


class HostReadError(RuntimeError):
    """A forward read a tensor's value on the host while it was captured; on CUDA the capture would fail."""


def tape_capture(forward: Callable[[], None], *, keep: bool = True) -> Callable[[], None]:
    """Record `forward` and return what replays it. It ran once: state is as after a warm-up, or with `keep`
    False as it was before.
    """
    recorder = _Recorder(keep)
    try:
        with recorder:
            forward()
    finally:
        recorder.put_back()
    calls = recorder.calls

    def replay() -> None:
        with torch.no_grad():
            for call in calls:
                call()

    return replay


class _Recorder(TorchDispatchMode):
    """Runs each operation and keeps what repeats it.

    keep     whether what is written stays; if not,
    made     storages made while recording: writing to them needs no undoing. Outputs are kept alive by
             `calls`, so no identity is reused.
    before   storages that existed, with their content before the first write.
    """

    def __init__(self, keep: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch has no annotation here
        self.calls: list[_Call] = []
        self._keeps = keep
        self._made: set[int] = set()
        self._before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True would import the compiler (a second) to keep it away from this mode

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        operation = _operation(func)
        if operation.host_read:
            raise HostReadError(f"{func}: not permitted while capturing")
        if operation.written:
            if not self._keeps:
                for index, name in operation.written:
                    for tensor in _tensors(args[index] if index < len(args) else kwargs.get(name)):
                        self._remember(tensor.untyped_storage())
            self.calls.append(partial(operation.run, *args, **kwargs))
            return operation.run(*args, **kwargs)
        out = operation.run(*args, **kwargs)
        if not operation.view:
            # A view needs no replay: it looks at a storage that is replayed.
            if not self._keeps:
                self._made.update(tensor.untyped_storage()._cdata for tensor in _tensors(out))
            self.calls.append(operation.repeat(args, kwargs, out))
        return out

    def _remember(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key not in self._made and key not in self._before:
            self._before[key] = (storage, storage.clone())

    def put_back(self) -> None:
        """Undo every write to a storage that existed before, where they are not to stay."""
        for storage, content in self._before.values():
            storage.copy_(content)
        self._before.clear()


def _tensors(value: Any) -> tuple[torch.Tensor, ...]:
    if isinstance(value, torch.Tensor):
        return (value,)
    items = value if isinstance(value, (tuple, list)) else ()
    return tuple(item for item in items if isinstance(item, torch.Tensor))


@dataclass(frozen=True)
class _Operation:
    """What the schema of an aten operation says, read once.

    run      the operation itself, without the Python method around it.
    written  (position, name) of the arguments that it writes; view: its result aliases an argument.
    direct   (name of the out argument, its operation) that writes the same result into a given tensor.
    """

    run: _Run
    host_read: bool
    written: tuple[tuple[int, str], ...]
    view: bool
    direct: tuple[str, Any] | None

    def repeat(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> _Call:
        """Return a call that computes the operation again into the very storages of `out`."""
        if self.direct is not None and isinstance(out, torch.Tensor):
            name, overload = self.direct
            return partial(overload, *args, **kwargs, **{name: out})
        frozen, run = _tensors(out), self.run

        def run_and_copy() -> None:
            for old, new in zip(frozen, _tensors(run(*args, **kwargs)), strict=True):
                old.copy_(new)

        return run_and_copy


@cache
def _operation(func: Any) -> _Operation:
    schema = func._schema
    return _Operation(
        run=_bare(func),
        host_read=not _HOST_READS.isdisjoint({schema.name, f"{schema.name}.{schema.overload_name}"}),
        written=tuple(
            (index, argument.name)
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ),
        view=any(result.alias_info is not None for result in schema.returns),
        direct=_out_variant(func),
    )


def _bare(func: Any) -> _Run:
    # What an overload's own __call__ calls: a tenth of a step is spent in that method.
    run: _Run = getattr(func, "_op", func)
    return run


def _out_variant(func: Any) -> tuple[str, Any] | None:
    wanted = [(argument.name, str(argument.type)) for argument in func._schema.arguments]
    packet = func.overloadpacket
    for overload_name in packet.overloads():
        overload = getattr(packet, overload_name)
        arguments = overload._schema.arguments
        outs = [argument.name for argument in arguments if argument.is_out]
        rest = [(argument.name, str(argument.type)) for argument in arguments if not argument.is_out]
        if len(outs) == 1 and rest == wanted:
            return outs[0], _bare(overload)
    return None
