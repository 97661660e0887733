"""What a target of a released engine says of itself, before and after a release is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from harness.protocol import Description, FaultOrigin
from harness.scenario import WORKERS
from harness.targets.common.released import Tree, by_package, version_of
from harness.targets.common.session import OPERATIONS

__all__ = ["PlantedFault", "describe_any", "describe_tree"]


class PlantedFault(Protocol):
    """What a description tells of a fault."""

    @property
    def kind(self) -> str:
        """K01 to K16."""

    @property
    def summary(self) -> str:
        """What goes wrong, in a sentence."""


def describe_any(
    name: str,
    devices: tuple[str, ...],
    faults: Mapping[str, PlantedFault],
    *,
    dummy: str,
    releases: str,
    own: Sequence[str],
    stand_ins: Sequence[str],
) -> Description:
    """Say what a target can do with any release that has both workers."""
    planted = dict(sorted(faults.items()))
    return Description(
        name=name,
        version="of the release given with --source",
        devices=devices,
        workers=WORKERS,
        operations=tuple(operation.name for operation in OPERATIONS),
        faults={fault: found.summary for fault, found in planted.items()},
        origins={fault: FaultOrigin(found.kind, "") for fault, found in planted.items()},
        dummy=dummy,
        releases=releases,
        keeps_absent=True,
        own=tuple(own),
        stand_ins=tuple(stand_ins),
    )


def describe_tree(known: Description, tree: Tree) -> Description:
    """Add to what is `known` of any release which modules of `tree` are its own and which are stand-ins."""
    named = [module for module, _ in tree.ledger.empty]
    given = [f"{module.rpartition('.')[2]}.{name}" for module, name in tree.ledger.given]
    return replace(
        known,
        version=version_of(tree.folder, known.name),
        own=(*known.own, *by_package(tree.own)),
        stand_ins=(*known.stand_ins, *(f"value of {name}" for name in sorted(given)), *by_package(named)),
    )
