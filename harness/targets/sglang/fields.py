"""What the fields of a batch were, and what a graph's own copies of them were when they had been filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from harness.trace import MetadataField

__all__ = ["Fields"]

_SORTS = {"bs": "per-request", "tokens": "rebuilt"}  # by what the engine says that a field has a value of


class Fields:
    """Listens to the buffer registries of graph runners, and to model runners where those do without a graph.

    runners  name -> a model runner, and the engine's graph runner for it.
    """

    def __init__(self, runners: Mapping[str, tuple[Any, Any]]) -> None:
        self._seen: dict[str, tuple[str, torch.Tensor, torch.Tensor | None]] = {}
        for owner, (runner, graphs) in runners.items():
            self._hear_of_copies(owner, graphs.buffer_registry)
            self._hear_of_eager(owner, runner, graphs.buffer_registry)

    def shown(self) -> Iterator[MetadataField]:
        """Yield each field that has a value a request or a token, of the last forward, and its graph's copy."""
        for name, (sort, owner, copy) in self._seen.items():
            yield MetadataField(name, sort, _text(owner), None if copy is None else _text(copy))

    def _hear_of_copies(self, owner: str, registry: Any) -> None:
        fill = registry.fill_from

        def filled(batch: Any, **sizes: Any) -> Any:
            result = fill(batch, **sizes)
            self._note(owner, registry, batch, sizes)
            return result

        registry.fill_from = filled

    def _hear_of_eager(self, owner: str, runner: Any, registry: Any) -> None:
        forward = runner.forward

        def forwarded(batch: Any, **options: Any) -> Any:
            result = forward(batch, **options)
            if runner.graph is None:
                self._note(owner, registry, batch, {})
            return result

        runner.forward = forwarded

    def _note(self, owner: str, registry: Any, batch: Any, sizes: Mapping[str, int]) -> None:
        """Keep clones, for the engine's own go on being written; the host reads them when the step is done."""
        for name in registry.slot_names():
            slot, value = registry.get_slot(name), getattr(batch, name, None)
            if slot.axis in _SORTS and slot.slice_fn is None and isinstance(value, torch.Tensor):
                count = sizes.get("raw_bs" if slot.axis == "bs" else "raw_num_tokens")
                copy = None if count is None else slot.buffer[:count].clone()
                self._seen[f"{owner}.{name}"] = _SORTS[slot.axis], value.clone(), copy


def _text(values: torch.Tensor) -> tuple[str, ...]:
    return tuple(map(str, values.tolist()))
