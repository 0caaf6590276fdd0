"""Whether a case fits into the memory it needs."""

from __future__ import annotations

from trnbench.facts.format import show
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point
from trnbench.kernels.spread import Spread

_NAMES = {"hbm": "device memory", "sbuf": "SBUF", "host": "host memory"}


def shortage(kernel: Kernel, point: Point, extent: Extent, system: System) -> str:
    """Empty when the case fits, else what it needs of what there is.

    Compared is one share with one share: a core's with a core's part of its device's memory, a
    device's with the device's. A memory whose size no document gives holds anything.
    """
    per_core = kernel.spread is Spread.CORES
    for level, needed in kernel.footprint(point, extent).items():
        if level == "host":
            shares = min(extent.devices, _devices_per_host(system))
            needed, have, owner = needed * shares, host_memory(system), "a host"
        else:
            have, owner = capacity(system, level, per_core=per_core), "a core" if per_core else "a device"
        if have is not None and needed > have:
            memory = f"{show(have, 'B')} of {_NAMES.get(level, level)}"
            return f"needs {show(needed, 'B')} of the {memory} {owner} has"
    return ""


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
    return max(1, system.devices // max(1, system.hosts))
