"""Values and scopes that several families sweep over."""

from __future__ import annotations

from trnbench.facts.scope import Scope
from trnbench.kernels.extent import Extent

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

EVERY_SCOPE = (Scope.CORE, Scope.DEVICE, Scope.INSTANCE)
CORE_TO_SYSTEM = (Scope.CORE, Scope.LOGICAL_CORE, Scope.DEVICE, Scope.INSTANCE)
CORE_AND_SYSTEM = (Scope.CORE, Scope.INSTANCE)
SYSTEM = (Scope.INSTANCE,)

LINK_SIZES = (KIB, 16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, 256 * MIB, GIB)
"""From latency alone to bandwidth alone: 1 KiB to 1 GiB."""


def per_core(formula: str, extent: Extent) -> str:
    """`formula` with the number of cores it is multiplied by, when it is more than one."""
    return f"{formula}; × {extent.cores:,} cores" if extent.cores > 1 else formula
