"""What a worker is, told from what it has: never from a version number or a class name alone.

family  a letter of `docs/targets.md`: DFlash C to G, DSpark a to e. It is for people; what decides how a
        worker is driven are the attributes named here.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from harness.errors import LaunchError

__all__ = ["Shape", "recognise"]

_POOL = ("_req_to_slot", "_free_slots", "_batch_to_slot", "_ctx_len")
_DUMMIES = ("_dummy_slot", "_scratch_slot")


@dataclass(frozen=True)
class Shape:
    """How a worker is driven.

    drafter   "context" (rows or pages that the worker fills), "windows", or "pages" of the KV manager.
    dummy     the attribute with the dummy row, "" where padding shares slot 0.
    managed   it can take its pages from a draft cache manager; prepares: the engine has to prepare its
              tables before each forward; skips: it stands aside at draft length 0.
    """

    family: str
    drafter: str
    dummy: str
    managed: bool
    prepares: bool
    skips: bool


def recognise(worker: Any) -> Shape:
    """Return the shape of `worker`. Raises `LaunchError` with what was looked for and not found."""
    name = f"{type(worker).__module__}.{type(worker).__name__}"
    missing = [attribute for attribute in _POOL if not hasattr(worker, attribute)]
    if missing:
        raise LaunchError(
            f"{name} has no shape that the harness knows: "
            f"looked for {', '.join(_POOL)}; not found: {', '.join(missing)}"
        )
    dummy = next((attribute for attribute in _DUMMIES if hasattr(worker, attribute)), "")
    if hasattr(worker, "_kv_windows"):
        return Shape(_window_family(worker), "windows", dummy, managed=False, prepares=False, skips=False)
    if hasattr(worker, "_managed_residency") and hasattr(worker, "prepare_managed_draft_cache"):
        return Shape("DSpark e", "pages", dummy, managed=True, prepares=True, skips=False)
    lazy = getattr(worker, "_lazy_init_ctx_buffers", None)
    if lazy is None or not hasattr(worker, "_ctx_k_buf"):
        raise LaunchError(
            f"{name} has no shape that the harness knows: it owns slots, but neither context rows "
            "(_lazy_init_ctx_buffers with _ctx_k_buf), nor windows (_kv_windows), "
            "nor managed pages (prepare_managed_draft_cache with _managed_residency)"
        )
    managed = "draft_kv_cache_manager" in inspect.signature(lazy).parameters
    return Shape(_context_family(worker), "context", dummy, managed, prepares=False, skips=True)


def _context_family(worker: Any) -> str:
    letter = "C"
    if hasattr(worker, "_dummy_slot"):
        letter = "D"
    if hasattr(worker, "_dflash_attention_backend"):
        letter = "E"
    if hasattr(worker, "_assign_slot"):
        letter = "F"
    if hasattr(worker, "_ctx_len_host") or hasattr(worker, "_req_ctx_pos"):
        letter = "G"
    # A standalone DSpark drafter is a DFlash worker with other heads.
    return f"DFlash {letter}" if type(worker).__name__.startswith("DFlash") else f"DSpark on DFlash {letter}"


def _window_family(worker: Any) -> str:
    if not hasattr(worker, "_scratch_slot"):
        return "DSpark a"
    if not hasattr(worker, "_valid_len"):
        return "DSpark b"
    return "DSpark d" if type(worker).__name__ == "DSv4DSparkWorker" else "DSpark c"
