"""The stand-in prefix cache: what ended requests had committed, for whoever comes with the same prompt."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["PrefixCache"]


class PrefixCache:
    """Keeps the locations of the last requests that ended; to the engine's allocation it is its tree cache."""

    def __init__(self, entries: int, allocator: Any) -> None:
        self.token_to_kv_pool_allocator = allocator
        self._entries = entries
        self._places: dict[str, torch.Tensor] = {}
        self._users: dict[str, set[str]] = {}

    def supports_prefix_sharing(self) -> bool:
        """Nothing is evicted to make room: there is room."""
        return False

    def is_chunk_cache(self) -> bool:
        """The same, as an earlier release asks for it."""
        return True

    def supports_swa(self) -> bool:
        """No layer has a window."""
        return False

    def supports_mamba(self) -> bool:
        """No layer is recurrent."""
        return False

    def keep(self, name: str, places: torch.Tensor) -> bool:
        """Keep the locations of `name`'s tokens. False where they are kept already: the caller frees his own."""
        self._users.get(name, set()).discard(name)
        if name in self._places:
            return False
        idle = [kept for kept in self._places if not self._users.get(kept)]
        if len(self._places) >= self._entries and idle:
            self.token_to_kv_pool_allocator.free(self._places.pop(idle[0]))
        if len(self._places) >= self._entries:
            return False
        self._places[name] = places
        return True

    def take(self, name: str, count: int) -> torch.Tensor | None:
        """Return the locations of the first tokens of `name`'s prompt, None where they are not there."""
        places = self._places.get(name)
        if places is None or len(places) < count:
            return None
        self._users.setdefault(name, set()).add(name)
        return places[:count]
