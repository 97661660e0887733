"""Who holds which cache blocks: the engine's own pool, handed out in the few lines of a scheduler."""

from __future__ import annotations

from typing import Any

from harness.targets.vllm.config import BLOCK
from harness.targets.vllm.requests import Request

__all__ = ["Blocks"]


class Blocks:
    """Blocks of requests, and those that ended ones left for whoever comes with the same prompt.

    `size` is the tokens of a block. The pool counts references and keeps the null block out of all hands.
    """

    size = BLOCK

    def __init__(self, pool: Any, entries: int) -> None:
        self._pool, self._entries = pool, entries
        self._kept: dict[str, list[Any]] = {}

    def cover(self, request: Request, tokens: int) -> list[int]:
        """Let a request hold blocks for this many tokens; return the ids of the new ones."""
        missing = -(-tokens // BLOCK) - len(request.blocks)
        new = self._pool.get_new_blocks(missing) if missing > 0 else []
        request.blocks += new
        return [block.block_id for block in new]

    def release(self, request: Request, *, keep: bool) -> None:
        """Take a request's blocks; with `keep` those of its context stay, if nobody left that prompt before."""
        blocks, request.blocks = request.blocks, []
        whole = -(-request.position // BLOCK)
        if keep and request.name not in self._kept and request.position:
            if len(self._kept) == self._entries:
                self._pool.free_blocks(self._kept.pop(next(iter(self._kept))))
            self._kept[request.name], blocks = blocks[:whole], blocks[whole:]
        self._pool.free_blocks(reversed(blocks))

    def share(self, request: Request, tokens: int) -> list[tuple[int, int]] | None:
        """Let a request start with a kept prefix; return (from, to) of a block to copy, None where none is kept.

        Whole blocks are shared. Of the block in which the prefix ends it gets a copy, for it will write there.
        """
        kept = self._kept.get(request.name, [])
        if len(kept) * BLOCK < tokens:
            return None
        whole, rest = divmod(tokens, BLOCK)
        self._pool.touch(kept[:whole])
        request.blocks = kept[:whole]
        if not rest:
            return []
        (copy,) = self.cover(request, tokens)
        return [(kept[whole].block_id, copy)]
