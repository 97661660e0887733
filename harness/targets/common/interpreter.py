"""What Triton's interpreter does again and again with the same result is done once; what a kernel computes stays.

A step of an engine launches a dozen kernels on a few numbers, so nearly all of its time is Triton's bookkeeping in
Python: types, shapes, attributes of modules. Nothing here knows what an operation computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

__all__ = ["quicken"]

_READ = ("3.6.", "3.7.")


def quicken(interpreter: Any, version: str) -> None:
    """Make Triton's module `interpreter` do less, for the rest of this process. It must compile no kernel then.

    A `version` of Triton whose interpreter was not read is left as it is, which is right and slow.
    """
    if not version.startswith(_READ):
        return
    _patch_once(interpreter)
    _assert_nothing(interpreter.interpreter_builder)
    _know_types(interpreter)
    _know_tensors(interpreter.tl.core)
    _broadcast_what_differs(type(interpreter.interpreter_semantic))


class _Always:
    """The scope of a patched language that nobody takes back."""

    def restore(self) -> None:
        """Leave it patched."""


def _patch_once(interpreter: Any) -> None:
    """Patch the language for good, not anew for each launch and each of the hundred functions that it calls."""
    language, semantic = interpreter.tl, interpreter.interpreter_semantic

    def patch(owner: Any, name: str, member: Any, _: Any, scope: Any) -> None:
        compute = getattr(member, "__wrapped__", member)  # what wraps it asks whether there is a semantic

        def computed(*arguments: Any, **options: Any) -> Any:
            options["_semantic"] = semantic
            return compute(*arguments, **options)

        scope.set_attr(owner, name, computed)

    interpreter._patch_attr = patch
    interpreter._patch_lang(SimpleNamespace(__globals__={"language": language, "core": language.core}))
    always = _Always()
    interpreter._patch_lang = lambda _: always


def _assert_nothing(builder: Any) -> None:
    """Do sums once: they are done again in 64 bits for an assertion which without `debug` is not made."""
    builder.options = replace(builder.options, sanitize_overflow=builder.options.debug)


def _know_types(interpreter: Any) -> None:
    """Make a type once of what it follows from; types are told apart by their names."""
    block = interpreter.tl.core.block_type
    _remember(interpreter, "_get_np_dtype", lambda dtype: dtype.scalar.name)
    _remember(block, "with_element_ty", lambda self, element: (self.name, element.name))
    _remember(block, "to_ir", lambda self, _: self.name)  # there is one builder


def _remember(owner: Any, name: str, key: Callable[..., object]) -> None:
    """Let the function `name` of a module or class compute once what `key` says of its arguments."""
    compute, known = getattr(owner, name), {}

    def remembered(*arguments: Any) -> Any:
        what = key(*arguments)
        if what not in known:
            known[what] = compute(*arguments)
        return known[what]

    setattr(owner, name, remembered)


def _know_tensors(core: Any) -> None:
    """Take what follows from a tensor's type, its shape in particular, from the first tensor of that type."""
    begin, known = core.tensor.__init__, {}

    def begin_as_known(self: Any, handle: Any, type: Any) -> None:  # noqa: A002  # as Triton calls it
        if type.name not in known:
            begin(self, handle, type)
            known[type.name] = dict(vars(self))
        vars(self).update(known[type.name], handle=handle)

    core.tensor.__init__ = begin_as_known


def _broadcast_what_differs(semantic: Any) -> None:
    """Leave two values as they are whose shapes are the same."""
    broadcast = semantic.broadcast_impl_value

    def broadcast_unless_same(self: Any, left: Any, right: Any) -> Any:
        one, other = left.type, right.type
        if one.is_block() == other.is_block() and (not one.is_block() or list(one.shape) == list(other.shape)):
            return left, right
        return broadcast(self, left, right)

    semantic.broadcast_impl_value = broadcast_unless_same
