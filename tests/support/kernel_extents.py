"""The kernels by name, and the extents that they are asked for."""

from __future__ import annotations

from trnbench.facts.scope import Scope
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.plugin import trnbench_kernels

KERNELS: dict[str, Kernel] = {kernel.name: kernel for kernel in trnbench_kernels()}


CORE = Extent(scope=Scope.CORE)


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def ranks(count: int) -> Extent:
    return Extent(scope=Scope.INSTANCE, cores=2 * count, devices=count, ranks=count)
