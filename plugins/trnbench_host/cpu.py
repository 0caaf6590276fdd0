"""What the processor says of itself: /proc/cpuinfo and /sys, nothing guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

PROC, SYS = Path("/proc"), Path("/sys/devices/system/cpu")


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
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
    mine = [each for each in blocks if _int(each.get("processor", "-1")) in usable] or blocks
    packages = {each.get("physical id", "0") for each in mine}
    cores = {(each.get("physical id", "0"), each.get("core id", each.get("processor", "0"))) for each in mine}
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
        memory_bytes=_memory(proc / "meminfo"),
    )


def _blocks(path: Path) -> list[dict[str, str]]:
    blocks: list[dict[str, str]] = []
    for chunk in _text(path).split("\n\n"):
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
    highest = 1e3 * _int(_text(sys / "cpu0" / "cpufreq" / "cpuinfo_max_freq"))
    base = 1e3 * _int(_text(sys / "cpu0" / "cpufreq" / "base_frequency"))
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
        kind, level = _text(index / "type"), _text(index / "level")
        size = re.fullmatch(r"(\d+)([KMG]?)", _text(index / "size"))
        if size and level and kind in ("Data", "Unified"):
            factor = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[2]]
            sizes[f"L{level}{'d' if kind == 'Data' else ''}"] = int(size[1]) * factor
    return sizes


def _memory(path: Path) -> int:
    found = re.search(r"^MemTotal:\s+(\d+) kB", _text(path), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _int(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0
