"""Which form of a worker is asked for: a source may end in `?layout=managed&dspark=standalone`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from harness.errors import LaunchError

__all__ = ["LAYOUTS", "Variant", "split_source"]

LAYOUTS = {
    "dense": "rows of key and value",
    "paged": "pages in an arena of the worker's own",
    "managed": "pages of a draft cache manager",
    "mla": "one latent a token, in pages of a draft cache manager",
}
_CHOICES = {
    "layout": tuple(LAYOUTS),
    "dspark": ("embedded", "standalone"),
    "backend": ("python", "cpp"),
}


@dataclass(frozen=True)
class Variant:
    """The context layout of DFlash's lineage, the deployment form of DSpark, and the cache manager's backend.

    The backends differ in how a page table says that a page is not given: "python" by -1, "cpp" by 0.
    """

    layout: str = "dense"
    dspark: str = "embedded"
    backend: str = "python"


def split_source(source: str) -> tuple[str, Variant]:
    """Return the folder (or "installed") and the variant. Raises `LaunchError` for an unknown choice."""
    place, _, query = source.partition("?")
    variant = Variant()
    known = {field.name for field in fields(Variant)}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name not in known or value not in _CHOICES[name]:
            choices = "; ".join(f"{key}={'|'.join(values)}" for key, values in _CHOICES.items())
            raise LaunchError(f"--source {source}: {part!r} is no variant; there are {choices}")
        variant = replace(variant, **{name: value})
    return place, variant
