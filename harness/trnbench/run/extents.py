"""How much of a system a case takes, and whether its memories hold that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trnbench.facts.fact import Scope
from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.kernels.kernel import Kernel, Point
from trnbench.kernels.work import Extent, Spread

if TYPE_CHECKING:
    from trnbench.kernels.split import Split


def extent_of(kernel: Kernel, system: System, scope: Scope, point: Point) -> Extent:
    """How much of `system` a case takes. A pair lies on two hosts where the point needs two."""
    if kernel.spread is Spread.PAIR:
        apart = any(need.startswith("hosts:") for need in kernel.requires(point))
        return Extent(scope=scope, cores=2 * system.cores_per_device, devices=2, hosts=1 + apart, ranks=2)
    if scope.rank <= Scope.CORE.rank:
        return Extent(scope=scope)
    if scope is Scope.LOGICAL_CORE:
        return Extent(scope=scope, cores=min(system.logical_cores, system.cores_per_device))
    ranks = system.logical_cores_per_device if kernel.rank == "logical-core" else 1
    if scope is Scope.DEVICE:
        return Extent(scope=scope, cores=system.cores_per_device, ranks=ranks)
    return Extent(
        scope=scope,
        cores=system.devices * system.cores_per_device,
        devices=system.devices,
        hosts=system.hosts,
        ranks=system.devices * ranks if kernel.spread is Spread.TOGETHER else 1,
    )


_NAMES = {"hbm": "device memory", "sbuf": "SBUF", "host": "host memory"}


def shortage(kernel: Kernel, point: Point, extent: Extent, system: System, split: Split | None) -> str:
    """Empty when the case fits, else what it needs of what there is; `split` of a problem that cores share.

    Compared is one share with one share: a core's with a core's part of its device's memory, a
    device's with the device's. A memory whose size no document gives holds anything.
    """
    per_core = kernel.spread is Spread.CORES
    for level, needed in _needed(kernel, point, extent, split).items():
        if level == "host":
            shares = min(extent.devices, _devices_per_host(system))
            needed, have, owner = needed * shares, host_memory(system), "a host"
        else:
            have, owner = capacity(system, level, per_core=per_core), "a core" if per_core else "a device"
        if have is not None and needed > have:
            memory = f"{show(have, 'B')} of {_NAMES.get(level, level)}"
            return f"needs {show(needed, 'B')} of the {memory} {owner} has"
    return ""


def _needed(kernel: Kernel, point: Point, extent: Extent, split: Split | None) -> Mapping[str, float]:
    """Bytes by level. A device holds what its cores read, and nothing of a problem that they share twice."""
    whole = kernel.footprint(point, extent)
    if split is None:
        return whole
    share = kernel.footprint(split.shards[0].point, extent)
    cores = extent.cores_of_device
    return {level: min(needed, whole.get(level, needed) / cores) for level, needed in share.items()}


def capacity(system: System, level: str, *, per_core: bool) -> float | None:
    """Bytes of `level` that one core (or one device) can call its own; None where undocumented."""
    if level == "hbm":
        whole = system.fact(Scope.DEVICE, "hbm_capacity")
        if whole is None:
            total = system.fact(Scope.INSTANCE, "hbm_capacity")
            whole = total / system.devices if total else None
        return whole / system.cores_per_device if whole and per_core else whole
    each = system.fact(Scope.CORE, f"{level}_capacity")
    return each if per_core or each is None else each * system.cores_per_device


def host_memory(system: System) -> float | None:
    """Bytes of memory of one host; a cluster's hosts are its parents."""
    instance = system.instance
    if instance.sizable:
        return system.book.value(instance.parent, "host_memory")
    total = system.book.value(instance.name, "host_memory")
    return total / system.hosts if total else None


def _devices_per_host(system: System) -> int:
    return max(1, system.devices // system.hosts)
