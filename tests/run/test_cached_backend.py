"""An answer that is kept says the same, and stands only while nothing that it follows from has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from parts import part

from trnbench import Backend, Case, Observation, Run, System
from trnbench.facts.fact import FactBook
from trnbench.registry import Registry
from trnbench.results.json import dumps_measurement
from trnbench.run.cached_backend import (
    CachedBackend,
    Read,
    cached_backend,
    value_of,
    watched,
)
from trnbench.run.execute import execute
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import RunSettings, Selection
from trnbench.store.cache import Cache

EmulatedBackend = part("trnbench_emulator.backend").EmulatedBackend
pytestmark = pytest.mark.usefixtures("closed_files")

SIZES = Selection.of(
    kernels=("gemm", "rms_norm", "hbm_copy", "all_reduce", "host_to_device", "tensor_latency"),
    instances=("trn1.2xlarge", "trn2-16.48xlarge"),
    axes=("size=512,65536", "rows=128", "dtype=bf16"),
)


class Counting(EmulatedBackend):
    """The emulator, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def observe(self, case: Case, system: System) -> Observation:
        self.asked.append(case.id)
        return super().observe(case, system)


@pytest.fixture(scope="module")
def planned(registry: Registry) -> Plan:
    return plan(registry, SIZES)


def carried_out(registry: Registry, planned: Plan, cache: Cache | None) -> tuple[Run, list[str]]:
    backend = Counting()
    run = execute(planned, backend, registry, RunSettings(), cache=cache)
    return run, backend.asked


def told(run: Run) -> list[bytes]:
    return [dumps_measurement(measurement) for measurement in run.measurements]


def test_a_kept_answer_says_the_same_to_the_last_digit(
    registry: Registry, planned: Plan, tmp_path: Path
) -> None:
    store = tmp_path / "results.db"
    plain, asked = carried_out(registry, planned, None)
    assert asked
    first, asked_first = carried_out(registry, planned, Cache(store))
    assert asked_first == asked
    second, asked_again = carried_out(registry, planned, Cache(store))
    assert asked_again == []
    assert told(plain) == told(first) == told(second)
    assert plain.fidelity == first.fidelity == second.fidelity
    assert plain.systems == second.systems
    assert plain.topologies == second.topologies


def changed(planned: Plan, instance: str, change: Any) -> Plan:
    """The plan with other facts or costs of one system."""
    system = change(planned.systems[instance])
    return msgspec.structs.replace(planned, systems={**planned.systems, instance: system})


def with_fact(system: System, subject: str, metric: str, factor: float) -> System:
    facts = tuple(
        msgspec.structs.replace(fact, value=fact.value * factor)
        if (fact.subject, fact.metric) == (subject, metric) and fact.value is not None
        else fact
        for fact in system.book.facts
    )
    assert facts != system.book.facts
    return msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=facts))


def test_an_edited_fact_redoes_what_it_has_a_say_in(
    registry: Registry, planned: Plan, tmp_path: Path
) -> None:
    store = tmp_path / "results.db"
    _, all_asked = carried_out(registry, planned, Cache(store))
    slower = changed(
        planned,
        "trn2-16.48xlarge",
        lambda system: with_fact(system, system.instance.device, "hbm_bandwidth", 0.5),
    )
    run, asked = carried_out(registry, slower, Cache(store))
    assert asked
    assert {case.partition("::")[0] for case in asked} == {"trn2-16.48xlarge"}
    assert any("hbm_copy" in case for case in asked)
    plain, _ = carried_out(registry, slower, None)
    assert told(run) == told(plain)
    # What is printed of a thing that no model reads redoes nothing.
    other = changed(
        planned, "trn2-16.48xlarge", lambda system: with_fact(system, system.instance.name, "vcpu_count", 2)
    )
    _, asked = carried_out(registry, other, Cache(store))
    assert asked == []
    # The former values are still known.
    _, asked = carried_out(registry, planned, Cache(store))
    assert asked == []
    assert len(all_asked) > len(asked)


def test_an_edited_cost_redoes_the_cores_alone(registry: Registry, planned: Plan, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    carried_out(registry, planned, Cache(store))

    def dearer(system: System) -> System:
        rows = system.costs["instructions"]["nc_matmul"]
        edited = [{**row, "cycles": f"2 * ({row['cycles']})"} for row in rows]
        instructions = {**system.costs["instructions"], "nc_matmul": edited}
        return msgspec.structs.replace(system, costs={**system.costs, "instructions": instructions})

    edited = changed(planned, "trn1.2xlarge", dearer)
    run, asked = carried_out(registry, edited, Cache(store))
    assert any("gemm" in case for case in asked)
    assert not any("all_reduce" in case or "host" in case for case in asked)
    plain, _ = carried_out(registry, edited, None)
    assert told(run) == told(plain)


def test_edited_code_redoes_everything(
    registry: Registry, planned: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "results.db"
    _, asked = carried_out(registry, planned, Cache(store))
    monkeypatch.setattr("trnbench_emulator.backend.MODEL_VERSION", "test")
    _, again = carried_out(registry, planned, Cache(store))
    assert again == asked


def test_what_fails_is_worked_out_each_time(registry: Registry, planned: Plan, tmp_path: Path) -> None:
    class Failing(Counting):
        def observe(self, case: Case, system: System) -> Observation:
            super().observe(case, system)
            raise ValueError("no")

    cache = Cache(tmp_path / "results.db")
    for _ in range(2):
        backend = Failing()
        execute(planned, backend, registry, RunSettings(), cache=cache)
        assert len(backend.asked) == sum(not case.skip for case in planned.cases)
    assert cache.info().entries <= 1 + len(planned.systems)  # what a run says beside its cases


def test_a_backend_that_does_not_say_so_is_asked_each_time(tmp_path: Path) -> None:
    class Other:
        name = "other"

    backend: Any = Other()
    cache = Cache(tmp_path / "results.db")
    assert cached_backend(backend, cache) is backend
    emulator: Backend = EmulatedBackend()
    assert cached_backend(emulator, None) is emulator
    assert isinstance(cached_backend(emulator, cache), CachedBackend)


# What is read -----------------------------------------------------------------------------------


@pytest.fixture
def system(registry: Registry) -> System:
    return registry.system("trn2-16.48xlarge")


def test_every_way_to_read_is_told(system: System) -> None:
    reads: set[Read] = set()
    copy = watched(system, reads)
    assert copy.book.value("neuroncore-v3", "clock", qualifier="tensor")
    assert list(copy.book.select("neuroncore-v3", "clock")) == list(
        system.book.select("neuroncore-v3", "clock")
    )
    assert copy.book.assumptions.get("no-such") is None
    assert copy.costs.get("no-such", {}) == {}
    assert copy.costs["instructions"]["nc_matmul"] == system.costs["instructions"]["nc_matmul"]
    assert sorted(reads) == [
        ("assumption", "no-such"),
        ("cost", "instructions", "nc_matmul"),
        ("cost", "no-such"),
        ("fact", "neuroncore-v3", "clock"),
    ]
    assert {**copy.costs["constants"]} == system.costs["constants"]
    assert ("cost", "constants") in reads
    assert copy.book.facts == system.book.facts
    assert ("book", "facts") in reads
    assert isinstance(copy.book.merged(FactBook()), FactBook)
    assert dict(copy.costs) == system.costs
    assert ("costs",) in reads


FITTING = {"core_count", "device_count", "host_count", "hbm_capacity"}
"""Read to tell whether a case fits its system."""


def test_the_emulator_says_which_facts_it_reads(planned: Plan) -> None:
    """A comparison names no other fact, assumption or cost as the cause of another time."""
    backend, environment = EmulatedBackend(), EmulatedBackend().environment()
    kinds = set()
    for case in planned.runnable:
        reads: set[Read] = set()
        kind = backend.observe(
            case, watched(planned.systems[case.key.instance], reads)
        ).implementation.partition(":")[0]
        assert ("book", "facts") not in reads
        facts = {read[2] for read in reads if read[0] == "fact"}
        assert facts <= {*environment["facts_read"].split()}
        if (own := environment.get(f"facts_read_{kind}")) is not None:
            kinds.add(kind)
            words = facts - FITTING
            words |= {f"{read[0]}:{read[1]}" for read in reads if read[0] in ("assumption", "cost")}
            assumed = {word for word in words if word.startswith("assumption:")} if "*" in own else set()
            assert words - assumed <= {*own.split()}
    assert kinds == {"nki", "collective"}


def test_what_is_missing_is_read_as_nothing(system: System) -> None:
    assert value_of(("cost", "no-such", "key"), system) is None
    assert value_of(("fact", "no-such", "clock"), system) == []
    assert value_of(("assumption", "no-such"), system) is None


def test_a_measurement_is_what_a_case_makes(registry: Registry, planned: Plan, tmp_path: Path) -> None:
    """Cases that are kept come first, and stand where they stood."""
    cache = Cache(tmp_path / "results.db")
    half = msgspec.structs.replace(planned, cases=planned.cases[::2])
    carried_out(registry, half, cache)
    run, asked = carried_out(registry, planned, cache)
    assert asked == [case.id for case in planned.cases[1::2] if not case.skip]
    assert [measurement.id for measurement in run.measurements] == [case.id for case in planned.cases]
