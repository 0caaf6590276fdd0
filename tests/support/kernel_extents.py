"""The kernels by name, and the extents that they are asked for."""

from __future__ import annotations

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.work import Extent
from trnbench.registry import load_registry

OWNERS = ("kernels", "trn1", "trn2", "trn3")
"""The plugins whose kernels run on Trainium: the families of all generations, then what each adds."""


def _kernels() -> dict[str, Kernel]:
    registry = load_registry()
    return {
        each.name: registry.kernels[each.name]
        for each in registry.brought("trnbench_kernels")
        if each.kind == "kernel" and each.origin.name in OWNERS
    }


KERNELS: dict[str, Kernel] = _kernels()
CORE = Extent(scope=Scope.CORE)
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def ranks(count: int) -> Extent:
    """`count` devices, of four hosts where they are enough."""
    hosts = 4 if count >= 8 else 1
    return Extent(scope=Scope.INSTANCE, cores=2 * count, devices=count, hosts=hosts, ranks=count)
