"""What the processor says of itself and of what held it back: /proc, /sys, the firmware, nothing guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from trnbench import Record, Source, Witness

PROC, SYS = Path("/proc"), Path("/sys/devices/system/cpu")


class Cpu(Record, kw_only=True):
    """0, "" and empty mean that the machine does not say."""

    name: str
    vendor: str
    family: int
    model: int
    flags: frozenset[str]
    sockets: int
    cores: int  # physical, of all sockets, that this process may use
    threads: int  # logical, that this process may use
    nominal_hz: float = 0.0
    highest_hz: float = 0.0
    clock_from: str = ""
    caches: Mapping[str, int] = {}  # "L1d", "L2", "L3" → bytes
    memory_bytes: int = 0

    @property
    def last_cache_bytes(self) -> int:
        return max(self.caches.values(), default=0)

    @property
    def virtual(self) -> bool:
        return "hypervisor" in self.flags


def read_cpu(proc: Path = PROC, sys: Path = SYS, usable: frozenset[int] | None = None) -> Cpu:
    """The processor of this machine; other folders for recordings of other machines."""
    blocks = _blocks(proc / "cpuinfo")
    first = blocks[0] if blocks else {}
    usable = usable if usable is not None else frozenset(os.sched_getaffinity(0))
    mine = [block for block in blocks if _int(block.get("processor", "-1")) in usable] or blocks
    packages = {block.get("physical id", "0") for block in mine}
    cores = {
        (block.get("physical id", "0"), block.get("core id", block.get("processor", "0"))) for block in mine
    }
    flags = frozenset((first.get("flags") or first.get("Features") or "").split())
    nominal, highest, told = _clocks(sys, first, flags)
    return Cpu(
        name=first.get("model name") or first.get("Model") or first.get("CPU part", "unknown processor"),
        vendor=first.get("vendor_id") or first.get("CPU implementer", ""),
        family=_int(first.get("cpu family", "0")),
        model=_int(first.get("model") or first.get("CPU part", "0")),
        flags=flags,
        sockets=max(1, len(packages)),
        cores=max(1, len(cores)),
        threads=max(1, len(mine)),
        nominal_hz=nominal,
        highest_hz=highest,
        clock_from=told,
        caches=_caches(sys / "cpu0" / "cache"),
        memory_bytes=meminfo(proc / "meminfo", "MemTotal"),
    )


def _blocks(path: Path) -> list[dict[str, str]]:
    blocks: list[dict[str, str]] = []
    for chunk in text_of(path).split("\n\n"):
        block = {}
        for line in chunk.splitlines():
            key, _, value = line.partition(":")
            block[key.strip()] = value.strip()
        if "processor" in block:
            blocks.append(block)
    return blocks


def _clocks(sys: Path, first: Mapping[str, str], flags: frozenset[str]) -> tuple[float, float, str]:
    """(nominal, highest, where from). "cpu MHz" is the nominal clock only under a hypervisor: elsewhere it
    is the clock of this moment."""
    highest = 1e3 * _int(text_of(sys / "cpu0" / "cpufreq" / "cpuinfo_max_freq"))
    base = 1e3 * _int(text_of(sys / "cpu0" / "cpufreq" / "base_frequency"))
    if base:
        return base, highest, "cpufreq/base_frequency"
    named = re.search(r"@\s*([\d.]+)\s*GHz", first.get("model name", ""))
    if named:
        return float(named[1]) * 1e9, highest, "the model's name"
    if "hypervisor" in flags and first.get("cpu MHz"):
        return float(first["cpu MHz"]) * 1e6, highest, "/proc/cpuinfo, cpu MHz"
    return 0.0, highest, "cpufreq/cpuinfo_max_freq" if highest else ""


def _caches(folder: Path) -> dict[str, int]:
    sizes = {}
    for index in sorted(folder.glob("index*")):
        kind, level = text_of(index / "type"), text_of(index / "level")
        size = re.fullmatch(r"(\d+)([KMG]?)", text_of(index / "size"))
        if size and level and kind in ("Data", "Unified"):
            factor = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[2]]
            sizes[f"L{level}{'d' if kind == 'Data' else ''}"] = int(size[1]) * factor
    return sizes


def meminfo(path: Path, name: str) -> int:
    """Bytes of an entry of /proc/meminfo, 0 where it is not there."""
    match = re.search(rf"^{name}:\s+(\d+) kB", text_of(path), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def text_of(path: Path) -> str:
    """What the file says, without space around it; "" where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _int(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0


EDAC, DMI = Path("/sys/devices/system/edac/mc"), Path("/sys/firmware/dmi/entries")

# Offsets of the SMBIOS specification (DSP0134), 7.18 Memory Device.
_DATA_WIDTH, _SIZE, _SPEED, _CONFIGURED = 0x0A, 0x0C, 0x15, 0x20


class Memory(Record, kw_only=True):
    """0 where the machine does not tell."""

    channels: int = 0
    bits: int = 0  # of data, of one channel
    transfers_per_s: float = 0.0

    @property
    def bytes_per_s(self) -> float:
        return self.channels * self.bits / 8 * self.transfers_per_s


def read_memory(edac: Path = EDAC, dmi: Path = DMI) -> Memory:
    """Modules of several widths or rates are no answer: then nothing is told."""
    rates, widths = set(), set()
    for path in sorted(dmi.glob("17-*/raw")):
        raw = _bytes(path)
        if len(raw) < _SPEED + 2 or not _word(raw, _SIZE):
            continue  # an empty slot
        rates.add(_word(raw, _CONFIGURED) or _word(raw, _SPEED))
        widths.add(_word(raw, _DATA_WIDTH))
    if len(rates) != 1 or len(widths) != 1 or {0, 0xFFFF} & (rates | widths):
        return Memory(channels=_channels(edac))
    return Memory(channels=_channels(edac), bits=widths.pop(), transfers_per_s=rates.pop() * 1e6)


def _channels(edac: Path) -> int:
    """Those that hold a module."""
    channels = set()
    for path in edac.glob("mc*/dimm*"):
        size, place = _bytes(path / "size").decode().strip(), _bytes(path / "dimm_location").decode()
        channel = re.search(r"channel (\d+)", place)
        if size.isdigit() and int(size) and channel:
            channels.add((path.parent.name, channel[1]))
    return len(channels)


def _word(raw: bytes, at: int) -> int:
    # Older firmware writes shorter records; `raw[1]` is the length of the formatted part.
    return int.from_bytes(raw[at : at + 2], "little") if len(raw) >= at + 2 and raw[1] >= at + 2 else 0


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


TABLE = Path(__file__).with_name("cores.toml")


class Units(Record, kw_only=True):
    """`units` of `bits` each; `inferred` says why the row was taken when the model does not tell."""

    name: str
    units: int
    bits: int
    source: str
    locator: str
    vendor: str = ""
    family: int = 0
    models: tuple[int, ...] = ()
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    cpu: str = ""
    inferred: str = ""

    def fits(self, cpu: Cpu) -> bool:
        return (
            (not self.vendor or cpu.vendor == self.vendor)
            and (not self.family or cpu.family == self.family)
            and (not self.models or cpu.model in self.models)
            and cpu.flags.issuperset(self.has)
            and cpu.flags.isdisjoint(self.lacks)
            and (not self.cpu or re.search(self.cpu, cpu.name) is not None)
        )

    def per_cycle(self, item_bits: int) -> int:
        """Multiply-adds of one core in one cycle, each two operations."""
        return self.units * (self.bits // item_bits)


@cache
def _table() -> tuple[tuple[Units, ...], dict[str, Source]]:
    import tomllib

    read: dict[str, Any] = tomllib.loads(TABLE.read_text())
    rows = tuple(msgspec.convert(row, Units) for row in read["core"])
    return rows, {name: Source(id=name, **row) for name, row in read["sources"].items()}


def units_of(cpu: Cpu) -> Units | None:
    """The first row that fits, None where none does."""
    return next((row for row in _table()[0] if row.fits(cpu)), None)


def sources() -> dict[str, Source]:
    return _table()[1]


CGROUP = Path("/sys/fs/cgroup")

STOLEN = 0.02
"""Share of the time that other virtual machines may take before it is told."""

_THERMAL = ("core_throttle_count", "package_throttle_count")  # of x86, by the kernel's therm_throt


class Throttle:
    """Reads when it is made; `witness` reads again and tells the difference."""

    def __init__(
        self, processors: Sequence[int], sys: Path = SYS, cgroup: Path = CGROUP, proc: Path = PROC
    ) -> None:
        self._processors, self._sys, self._cgroup, self._proc = tuple(processors), sys, cgroup, proc
        self._before = self._read()

    def witness(self) -> Witness:
        """A clock that was lowered or a group that was held back makes the number suspect."""
        after = self._read()
        seen = {key: after[key] - self._before[key] for key in after if key in self._before}
        doubts, notes = [], []
        hot = sum(seen.get(key, 0.0) for key in _THERMAL)
        if hot > 0:
            doubts.append(
                f"the processor lowered its clock {hot:g} times meanwhile because it was too hot "
                "(thermal_throttle)"
            )
        held, held_s = seen.get("cgroup_throttled", 0.0), seen.get("cgroup_throttled_s", 0.0)
        if held > 0:
            doubts.append(
                f"its control group was held back {held:g} times meanwhile, {held_s:.3g} s in all: the quota "
                "of the container was used up (cpu.stat)"
            )
        total = seen.pop("processor_ticks", 0.0)
        if total and (stolen := seen.get("stolen_ticks", 0.0) / total) > STOLEN:
            notes.append(f"other virtual machines took {stolen:.1%} of these processors' time meanwhile")
        return Witness(counters=seen, doubts=tuple(doubts), notes=tuple(notes))

    def _read(self) -> dict[str, float]:
        return {**dict(self._thermal()), **dict(self._group()), **dict(self._stolen())}

    def _thermal(self) -> Iterator[tuple[str, float]]:
        for name in _THERMAL:
            readings = [
                int(text)
                for processor in self._processors
                if (text := text_of(self._sys / f"cpu{processor}" / "thermal_throttle" / name)).isdigit()
            ]
            # A package counts once, whichever of its processors is asked.
            if readings:
                yield name, float(sum(readings) if name.startswith("core") else max(readings))

    def _group(self) -> Iterator[tuple[str, float]]:
        """Version 2 of the interface counts microseconds, version 1 nanoseconds."""
        for path in self._groups():
            stat = dict(line.split()[:2] for line in text_of(path).splitlines() if len(line.split()) >= 2)
            if stat.get("nr_throttled", "").isdigit():
                yield "cgroup_throttled", float(stat["nr_throttled"])
                micro, nano = float(stat.get("throttled_usec", 0)), float(stat.get("throttled_time", 0))
                yield "cgroup_throttled_s", micro / 1e6 or nano / 1e9
                return

    def _groups(self) -> Iterator[Path]:
        for line in text_of(self._proc / "self" / "cgroup").splitlines():
            _, controllers, place = (*line.split(":", 2), "", "")[:3]
            if not controllers:
                yield self._cgroup / place.lstrip("/") / "cpu.stat"
            elif "cpu" in controllers.split(","):
                for folder in ("cpu", controllers):
                    yield self._cgroup / folder / place.lstrip("/") / "cpu.stat"
        yield self._cgroup / "cpu.stat"  # a container sees its own group as the root

    def _stolen(self) -> Iterator[tuple[str, float]]:
        words = [line.split() for line in text_of(self._proc / "stat").splitlines() if line]
        lines = {first: rest for first, *rest in words}
        rows = [lines[f"cpu{processor}"] for processor in self._processors if f"cpu{processor}" in lines]
        if rows and all(len(row) >= 8 for row in rows):
            yield "stolen_ticks", float(sum(int(row[7]) for row in rows))
            yield "processor_ticks", float(sum(sum(map(int, row[:8])) for row in rows))
