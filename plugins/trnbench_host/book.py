"""The facts of this machine: what it says of itself, and the peaks that follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trnbench import Assumption, Fact, FactBook, Provenance, Scope, Source, show
from trnbench_host.cpu import Cpu, Memory, Units, read_cpu, read_memory, sources, units_of

if TYPE_CHECKING:
    from trnbench import Calibration

HOST, CPU, CORE = "host", "host-cpu", "host-core"
RANKS, RANK = "host-ranks", "host-rank"
MACHINE, ARRANGED = "this-machine", "arrangement"
RANK_COUNT = 2
"""Processes that take part in a collective on a processor: what it has to do, without any more of it."""

MEASURED_INSTEAD = " (a run on this backend measures one)"

ITEMS = {"fp32": 32, "fp64": 64}


def identified() -> FactBook:
    """The book of the machine that this runs on."""
    return book(read_cpu(), read_memory())


def book(cpu: Cpu, memory: Memory | None = None) -> FactBook:
    """Facts of `cpu`. What it does not say and no row of cores.toml knows is no fact at all."""
    units = units_of(cpu)
    facts = (
        *_counts(cpu),
        *_memory(cpu, memory or Memory()),
        *_caches(cpu),
        *_core(cpu, units),
        *_ranks(cpu),
    )
    machine = Source(
        id=MACHINE,
        document="what the machine says of itself: /proc/cpuinfo, /proc/meminfo, /sys/devices/system/cpu",
        version="as read when the run was made",
    )
    arranged = Source(
        id=ARRANGED,
        document="how this plugin arranges ranks: plugins/trnbench_host/book.py",
        version="the one that made the run",
    )
    documents = sources()
    used = {fact.source for fact in facts} - {MACHINE, ARRANGED}
    return FactBook(
        sources={MACHINE: machine, ARRANGED: arranged, **{name: documents[name] for name in used}},
        facts=facts,
        assumptions={rank.id: rank for rank in _between_ranks()},
    )


def unknowns(cpu: Cpu, memory: Memory | None = None) -> tuple[str, ...]:
    """What no peak could be derived for, each with what would make it known."""
    unknown = []
    if units_of(cpu) is None:
        unknown.append(
            f"vector units of {cpu.name} (family {cpu.family}, model {cpu.model}): no row of cores.toml "
            f"fits, so FLOP/s have no documented peak{MEASURED_INSTEAD}"
        )
    if not _clock(cpu)[0]:
        unknown.append(
            "clock: neither /proc/cpuinfo nor /sys tells, so FLOP/s have no documented "
            f"peak{MEASURED_INSTEAD}"
        )
    if not any(_memory(cpu, memory or Memory())):
        unknown.append(
            "memory channels: the system does not tell them, so memory has no documented "
            f"peak{MEASURED_INSTEAD}; give one with --facts FILE (metric host_memory_bandwidth of "
            "subject host)"
        )
    return tuple(unknown)


def measured(system_book: FactBook, cpu: Cpu) -> Calibration:
    """Peaks that `system_book` lacks, measured now."""
    from trnbench_host.probe import reached

    have = {fact.metric for fact in system_book.facts if fact.value}
    return reached(cpu, flops="peak_flops" not in have, memory="host_memory_bandwidth" not in have)


def _clock(cpu: Cpu) -> tuple[float, str]:
    """The highest clock the machine admits to: a peak below what it can reach is none."""
    if cpu.highest_hz > cpu.nominal_hz:
        return cpu.highest_hz, "cpufreq/cpuinfo_max_freq"
    return cpu.nominal_hz, cpu.clock_from


def _fact(
    subject: str, metric: str, value: float, unit: str, scope: Scope, locator: str, **more: Any
) -> Fact:
    return Fact(
        subject=subject,
        metric=metric,
        printed=more.pop("printed", f"{value:g}"),
        printed_unit=unit,
        value=float(value),
        scope=scope,
        source=more.pop("source", MACHINE),
        locator=locator,
        **more,
    )


def _counts(cpu: Cpu) -> Iterator[Fact]:
    words = f"all {cpu.sockets} sockets as one device" if cpu.sockets > 1 else "one socket"
    yield _fact(HOST, "device_count", 1, "", Scope.INSTANCE, f"/proc/cpuinfo, physical id: {words}")
    yield _fact(HOST, "vcpu_count", cpu.threads, "", Scope.INSTANCE, "/proc/cpuinfo, usable processors")
    yield _fact(CPU, "core_count", cpu.cores, "", Scope.DEVICE, "/proc/cpuinfo, usable core ids")
    yield from _host_memory(cpu, HOST)


def _ranks(cpu: Cpu) -> Iterator[Fact]:
    row: dict[str, Any] = {"source": ARRANGED, "provenance": Provenance.INFERRED}
    yield _fact(RANKS, "device_count", RANK_COUNT, "", Scope.INSTANCE, "ranks, one process each", **row)
    share = max(1, cpu.cores // RANK_COUNT)
    yield _fact(RANK, "core_count", share, "", Scope.DEVICE, f"usable cores / {RANK_COUNT} ranks", **row)
    yield from _host_memory(cpu, RANKS)


def _host_memory(cpu: Cpu, subject: str) -> Iterator[Fact]:
    if cpu.memory_bytes:
        words, locator = f"{cpu.memory_bytes / 2**30:.4g}", "/proc/meminfo, MemTotal"
        yield _fact(subject, "host_memory", cpu.memory_bytes, "GiB", Scope.INSTANCE, locator, printed=words)


def _between_ranks() -> Iterator[Assumption]:
    """For the picture alone: nothing is judged by these, and nothing is emulated on a host."""
    yield Assumption(
        id="rank-bandwidth",
        metric="host_memory_bandwidth",
        printed="10",
        printed_unit="GB/s",
        value=10e9,
        low=1e9,
        high=100e9,
        reason="two processes hand data over through the machine's memory, whose rate it does not tell",
    )
    yield Assumption(
        id="rank-latency",
        metric="latency",
        printed="10",
        printed_unit="µs",
        value=1e-5,
        low=1e-6,
        high=1e-4,
        reason="waking a process takes the system some microseconds; it does not tell how many",
    )


def _memory(cpu: Cpu, memory: Memory) -> Iterator[Fact]:
    """Nothing in a virtual machine: what firmware says there is made up, and the channels are shared."""
    if memory.bytes_per_s and not cpu.virtual:
        rate = f"{memory.transfers_per_s / 1e6:g} MT/s"
        yield _fact(
            HOST,
            "host_memory_bandwidth",
            memory.bytes_per_s,
            "GB/s",
            Scope.INSTANCE,
            "edac/mc, modules by channel; SMBIOS type 17, configured speed and data width",
            printed=f"{memory.bytes_per_s / 1e9:g}",
            provenance=Provenance.DERIVED,
            formula=f"{memory.channels} channels × {memory.bits // 8} B × {rate}",
        )


def _caches(cpu: Cpu) -> Iterator[Fact]:
    for level, size in cpu.caches.items():
        yield _fact(
            CORE,
            "cache_capacity",
            size,
            "KiB",
            Scope.CORE,
            f"cpu0/cache, {level}",
            qualifier=level,
            printed=f"{size >> 10}",
        )


def _core(cpu: Cpu, units: Units | None) -> Iterator[Fact]:
    clock, cpu_words = _clock(cpu)
    if clock:
        yield _fact(CORE, "clock", clock, "GHz", Scope.CORE, cpu_words, printed=f"{clock / 1e9:g}")
    if units is None:
        return
    how = Provenance.INFERRED if units.inferred else Provenance.DOCUMENTED
    row: dict[str, Any] = {"source": units.source, "provenance": how, "note": units.inferred}
    yield _fact(CORE, "fma_unit_count", units.units, "", Scope.CORE, units.locator, **row)
    yield _fact(CORE, "vector_width", units.bits, "", Scope.CORE, units.locator, **row)
    if not clock:
        return
    for dtype, bits in ITEMS.items():
        value = clock * units.per_cycle(bits) * 2
        words = show(value, "FLOP/s", digits=4).partition(" ")
        yield _fact(
            CORE,
            "peak_flops",
            value,
            words[2],
            Scope.CORE,
            f"{units.name}; clock of {cpu_words}",
            dtypes=(dtype,),
            printed=words[0],
            source=units.source,
            provenance=Provenance.DERIVED,
            formula=f"{clock / 1e9:g} GHz × {units.units} units × {units.bits}/{bits} lanes × 2",
        )
