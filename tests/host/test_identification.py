"""Which processor it is, and what holds its clock back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import trnbench_host.backend as host_backend
import trnbench_host.cpu as throttling
from trnbench import Provenance, Run, Status
from trnbench.registry import load_registry
from trnbench.run.api import bench
from trnbench.run.attempt import Attempts
from trnbench.run.plan import plan
from trnbench.run.preparation import prepared
from trnbench.run.selection import RunSettings, Selection
from trnbench_host.book import CORE, book, identified, unknowns
from trnbench_host.cpu import Cpu, Throttle, read_cpu, units_of

AVX512 = "fma avx2 avx512f"


def cpu(**changes: object) -> Cpu:
    fields: dict[str, object] = {
        "name": "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        "vendor": "GenuineIntel",
        "family": 6,
        "model": 106,
        "flags": frozenset(AVX512.split()),
        "sockets": 1,
        "cores": 4,
        "threads": 8,
        "nominal_hz": 2.9e9,
        "clock_from": "the model's name",
    }
    return Cpu(**{**fields, **changes})  # type: ignore[arg-type]


def cpuinfo(folder: Path, *blocks: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cpuinfo").write_text("\n\n".join(blocks) + "\n")
    return folder


def block(number: int, core: int, package: int = 0, **more: str) -> str:
    fields = {
        "processor": str(number),
        "vendor_id": "GenuineIntel",
        "cpu family": "6",
        "model": "106",
        "model name": "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        "physical id": str(package),
        "core id": str(core),
        "cpu MHz": "3411.0",
        "flags": AVX512,
        **more,
    }
    return "\n".join(f"{key}\t: {value}" for key, value in fields.items())


def test_cores_are_counted_once_and_only_those_that_may_be_used(tmp_path: Path) -> None:
    proc = cpuinfo(tmp_path / "proc", *(block(n, n % 4, n // 8) for n in range(16)))
    whole = read_cpu(proc, tmp_path / "sys", frozenset(range(16)))
    assert (whole.sockets, whole.cores, whole.threads) == (2, 8, 16)
    part = read_cpu(proc, tmp_path / "sys", frozenset({0, 4, 1}))
    assert (part.sockets, part.cores, part.threads) == (1, 2, 3)


def test_the_clock_of_this_moment_is_no_nominal_clock(tmp_path: Path) -> None:
    named = read_cpu(cpuinfo(tmp_path / "a", block(0, 0)), tmp_path / "sys", frozenset({0}))
    assert (named.nominal_hz, named.clock_from) == (2.9e9, "the model's name")
    bare = {"model name": "Some CPU"}
    metal = read_cpu(cpuinfo(tmp_path / "b", block(0, 0, **bare)), tmp_path / "sys", frozenset({0}))
    assert metal.nominal_hz == 0.0
    virtual = block(0, 0, **bare, flags=f"{AVX512} hypervisor")
    guest = read_cpu(cpuinfo(tmp_path / "c", virtual), tmp_path / "sys", frozenset({0}))
    assert (guest.nominal_hz, guest.virtual) == (3.411e9, True)


def test_caches_and_highest_clock_come_from_sys(tmp_path: Path) -> None:
    cpu0 = tmp_path / "sys" / "cpu0"
    for index, (level, kind, size) in enumerate(
        (("1", "Data", "48K"), ("1", "Instruction", "32K"), ("3", "Unified", "54M"))
    ):
        folder = cpu0 / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    (cpu0 / "cpufreq").mkdir()
    (cpu0 / "cpufreq" / "cpuinfo_max_freq").write_text("3500000\n")
    found = read_cpu(cpuinfo(tmp_path / "proc", block(0, 0)), tmp_path / "sys", frozenset({0}))
    assert found.caches == {"L1d": 48 << 10, "L3": 54 << 20}
    assert found.highest_hz == 3.5e9
    assert found.last_cache_bytes == 54 << 20


@pytest.mark.parametrize(
    ("changes", "per_cycle"),
    [
        ({}, 32),
        ({"model": 85, "name": "Intel Xeon Gold 6148"}, 32),
        ({"model": 85, "name": "Intel Xeon Silver 4110"}, None),  # one unit or two: not told
        ({"model": 167}, 16),
        ({"model": 167, "flags": frozenset(["avx512f", "amx_tile"])}, 32),  # a hypervisor hides the model
        ({"model": 94, "flags": frozenset(["fma", "avx2"])}, 16),
        ({"vendor": "AuthenticAMD", "family": 25, "model": 17}, 16),
        ({"vendor": "AuthenticAMD", "family": 25, "flags": frozenset(["fma", "avx2"])}, 16),
        ({"vendor": "AuthenticAMD", "family": 26, "model": 2}, 32),
        ({"vendor": "AuthenticAMD", "family": 26, "model": 36}, None),  # mobile: half as wide
        ({"vendor": "0x41", "family": 0, "model": 0xD40, "flags": frozenset()}, 16),
        ({"vendor": "0x41", "family": 0, "model": 0xD0C, "flags": frozenset()}, 8),
        ({"vendor": "NobodyKnows", "family": 1, "model": 1}, None),
    ],
)
def test_vector_units_are_known_or_unknown_never_guessed(
    changes: dict[str, object], per_cycle: int | None
) -> None:
    found = units_of(cpu(**changes))
    assert (found.per_cycle(32) if found else None) == per_cycle


def test_a_peak_is_derived_with_its_formula() -> None:
    facts = {fact.dtypes: fact for fact in book(cpu()).facts if fact.metric == "peak_flops"}
    single = facts["fp32",]
    assert single.value == 2.9e9 * 2 * 16 * 2
    assert single.formula == "2.9 GHz × 2 units × 512/32 lanes × 2"
    assert single.provenance is Provenance.DERIVED
    assert facts["fp64",].value == single.value / 2


def test_the_highest_clock_makes_the_peak_where_it_is_told() -> None:
    value = book(cpu(highest_hz=3.5e9)).value(CORE, "peak_flops", dtype="fp32")
    assert value == 3.5e9 * 64


def test_what_is_unknown_is_said_and_is_no_fact() -> None:
    strange = cpu(vendor="NobodyKnows", nominal_hz=0.0, name="Mystery")
    told = unknowns(strange)
    assert told[0].startswith("vector units of Mystery (family 6, model 106): no row of cores.toml fits")
    assert told[1].startswith("clock: ")
    assert told[2].startswith("memory channels: ")
    metrics = {fact.metric for fact in book(strange).facts}
    assert metrics.isdisjoint({"peak_flops", "clock", "host_memory_bandwidth"})


def test_every_fact_of_this_machine_has_its_source() -> None:
    found = identified()
    assert found.facts
    assert {fact.source for fact in found.facts} == set(found.sources)
    assert all(fact.locator for fact in found.facts)


# Counters around the samples: what held the work back makes its number suspect.


def machine(folder: Path, *, hot: int = 0, held: int = 0, stolen: int = 0) -> Path:
    """/sys and /proc of two processors, as the kernel writes them."""
    for each in (0, 1):
        place = folder / "sys" / f"cpu{each}" / "thermal_throttle"
        place.mkdir(parents=True, exist_ok=True)
        (place / "core_throttle_count").write_text(f"{5 + hot}\n")
        (place / "package_throttle_count").write_text("7\n")
    group = folder / "cgroup" / "mine"
    group.mkdir(parents=True, exist_ok=True)
    (group / "cpu.stat").write_text(
        f"usage_usec 10\nnr_periods 9\nnr_throttled {held}\nthrottled_usec {held * 20000}\n"
    )
    (folder / "proc" / "self").mkdir(parents=True, exist_ok=True)
    (folder / "proc" / "self" / "cgroup").write_text("0::/mine\n")
    (folder / "proc" / "stat").write_text(
        f"cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 0 0 0 0 0 {stolen} 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n"
        if not stolen
        else f"cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 150 0 0 0 0 0 0 {stolen} 0 0\ncpu1 200 0 0 0 0 0 0 0 0 0\n"
    )
    return folder


def watch(folder: Path) -> Throttle:
    return Throttle((0, 1), folder / "sys", folder / "cgroup", folder / "proc")


def test_a_quiet_machine_leaves_counters_and_no_doubt(tmp_path: Path) -> None:
    found = watch(machine(tmp_path)).witness()
    assert (found.doubts, found.notes) == ((), ())
    assert found.counters == {
        "core_throttle_count": 0.0,
        "package_throttle_count": 0.0,
        "cgroup_throttled": 0.0,
        "cgroup_throttled_s": 0.0,
        "stolen_ticks": 0.0,
    }


def test_each_way_of_being_held_back_is_told(tmp_path: Path) -> None:
    watched = watch(machine(tmp_path))
    machine(tmp_path, hot=2, held=3, stolen=50)
    found = watched.witness()
    assert found.doubts == (
        "the processor lowered its clock 4 times meanwhile because it was too hot (thermal_throttle)",
        "its control group was held back 3 times meanwhile, 0.06 s in all: the quota of the container was "
        "used up (cpu.stat)",
    )
    assert found.notes == ("other virtual machines took 25.0% of these processors' time meanwhile",)


def test_the_older_interface_counts_nanoseconds(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / "proc" / "self" / "cgroup").write_text("4:memory:/x\n1:cpu,cpuacct:/mine\n")
    stat = tmp_path / "cgroup" / "cpu,cpuacct" / "mine" / "cpu.stat"
    stat.parent.mkdir(parents=True)
    stat.write_text("nr_periods 9\nnr_throttled 1\nthrottled_time 0\n")
    watched = watch(tmp_path)
    stat.write_text("nr_periods 9\nnr_throttled 2\nthrottled_time 1500000000\n")
    assert watched.witness().counters["cgroup_throttled_s"] == 1.5


def test_a_machine_that_counts_nothing_says_nothing(tmp_path: Path) -> None:
    assert msgspec.structs.astuple(watch(tmp_path).witness()) == ({}, (), (), {})


def measured(monkeypatch: pytest.MonkeyPatch, folder: Path, **later: int) -> Run:
    """A case of this machine whose counters are those of `folder`, and change while it is measured."""
    machine(folder)

    class Changing(Throttle):
        def __init__(self, processors: Any) -> None:
            super().__init__((0, 1), folder / "sys", folder / "cgroup", folder / "proc")
            machine(folder, **later)

    monkeypatch.setattr(throttling, "Throttle", Changing)
    registry = load_registry()
    planned = plan(
        registry,
        Selection(kernels=("stream_copy",), instances=("host",), scopes=("core",), axes=("size=1M",)),
    )
    backend = host_backend.HostBackend()
    attempts: Attempts = prepared(planned, backend, RunSettings(sample_s=0.05), registry)
    return attempts(planned.cases[0])[0]  # type: ignore[return-value]


def test_a_processor_that_got_too_hot_makes_the_number_suspect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: Any = measured(monkeypatch, tmp_path, hot=1)
    assert found.status is Status.SUSPECT
    assert "because it was too hot" in found.reason_text
    assert found.counters["core_throttle_count"] == 2.0


def test_a_container_that_was_held_back_makes_the_number_suspect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: Any = measured(monkeypatch, tmp_path, held=2)
    assert found.status is Status.SUSPECT
    assert "its control group was held back 2 times meanwhile" in found.reason_text


def test_the_counters_of_this_machine_are_in_every_result() -> None:
    run = bench(
        ("stream_copy",), backend="host", scopes=("core",), axes=("size=1M",), sample_s=0.05
    )  # in a process of its own
    assert "stolen_ticks" in run.measurements[0].counters
