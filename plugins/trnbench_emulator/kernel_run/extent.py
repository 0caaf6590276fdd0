"""The cores that a launch fills, as the command line names them."""

from __future__ import annotations

from trnbench.errors import UsageError
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.kernels.work import Extent


def extent_of(system: System, cores: str, programs: int = 1) -> Extent:
    """`core`, `logical-core`, `device` or `instance`: the whole system, be it an instance or more.

    It is full of launches of `programs` cores each; `core` is one launch alone. Raises `UsageError` where
    there are no logical cores, or a launch takes more.
    """
    if cores == "core" and programs > 1:
        logical = min(system.logical_cores, system.cores_per_device)
        cores = "logical-core" if programs == logical else "device"
    extent = _extent_of(system, cores)
    if extent.cores < programs:
        raise UsageError(
            f"a launch of {programs:,} programs does not fit into --cores {cores}",
            cause=f"each program runs on a core, and there are {extent.cores:,}",
            try_="--cores device",
        )
    return extent


def _extent_of(system: System, cores: str) -> Extent:
    if cores == "core":
        return Extent(scope=Scope.CORE)
    if cores == "logical-core":
        if why := system.lacks_logical_cores():
            raise UsageError(f"no logical core runs it on {system.name}", cause=why, try_="--cores core")
        return Extent(scope=Scope.LOGICAL_CORE, cores=min(system.logical_cores, system.cores_per_device))
    if cores == "device":
        return Extent(scope=Scope.DEVICE, cores=system.cores_per_device)
    return Extent(
        scope=system.instance.scope,
        cores=system.devices * system.cores_per_device,
        devices=system.devices,
        hosts=system.hosts,
    )
