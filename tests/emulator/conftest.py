"""Every default case of a run, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trnbench.backend import Observation
from trnbench.case_key import CaseKey, Value
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Extent
from trnbench.registry import Registry
from trnbench.run.cached_backend import CachedBackend
from trnbench.run.plan import Plan, plan
from trnbench.store.cache import Cache
from trnbench.store.store import Store
from trnbench_emulator.backend import EmulatedBackend


@pytest.fixture(scope="session")
def whole_plan(registry: Registry) -> Plan:
    return plan(registry)


@pytest.fixture(scope="session")
def backend() -> EmulatedBackend:
    return EmulatedBackend()


@pytest.fixture(scope="session")
def observed(whole_plan: Plan, backend: Any, emulated_run: Path) -> list[tuple[Case, System, Observation]]:
    """Each default case of the systems of a run, as it saw and kept it."""
    kept = CachedBackend(backend, Cache(emulated_run / "results.db"), seed=0)
    with Store(emulated_run / "results.db") as store:
        instances = store.load().systems
    found = []
    for case in whole_plan.runnable:
        if case.key.instance not in instances:
            continue
        system = whole_plan.systems[case.key.instance]
        assert backend.unsupported(case, system) == ""
        seen = kept.known(case, system)
        assert seen is not None, case.id
        found.append((case, system, seen))
    kept.cache.close()
    return found


MakeCase = Callable[..., tuple[Case, System]]


@pytest.fixture(scope="session")
def make_case(registry: Registry) -> MakeCase:
    """A case by kernel, instance, scope and point, without a plan."""

    def make(kernel: str, instance: str, scope: str = "core", **point: Value) -> tuple[Case, System]:
        system = registry.system(instance)
        found = registry.kernels[kernel]
        own = system.instance.scope if scope == "system" else None
        level = own or next(each for each in type(system.instance.scope) if each.value == scope)
        cores = {"core": 1, "device": system.cores_per_device}.get(
            level.value, system.cores_per_device * system.devices
        )
        devices = 1 if level.value in ("core", "device") else system.devices
        extent = Extent(scope=level, cores=cores, devices=devices, hosts=system.hosts, ranks=devices)
        full = {axis.name: point.get(axis.name, axis.values[0]) for axis in found.axes}
        key = CaseKey(
            kernel=kernel,
            family=found.family,
            instance=system.name,
            generation=system.generation.name,
            scope=level,
            point=full,
        )
        return Case(key=key, kernel=found, extent=extent), system

    return make


def scaled(system: System, factor: float, *metrics: str, dma: float = 1.0) -> System:
    """`system` with these documented figures (and the DMA engines' rate) multiplied."""
    facts = tuple(
        msgspec.structs.replace(fact, value=fact.value * factor)
        if fact.metric in metrics and fact.value is not None
        else fact
        for fact in system.book.facts
    )
    costs = dict(system.costs)
    if dma != 1.0:
        costs["dma"] = {
            **costs["dma"],
            "bytes_per_ns_per_engine": costs["dma"]["bytes_per_ns_per_engine"] * dma,
        }
    book = msgspec.structs.replace(system.book, facts=facts)
    return msgspec.structs.replace(system, book=book, costs=costs)


@pytest.fixture(scope="session")
def scale() -> Callable[..., System]:
    return scaled
