"""Counters that the driver keeps, and the name the device gives itself.

Format: Neuron Sysfs User Guide, SDK 2.32 (tools/neuron-sys-tools/neuron-sysfs-user-guide.rst). Files
that are not there, or cannot be read without privileges, are absent from the answer. Serial
numbers are never read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from trnbench_neuron.tool import number

ROOT = Path("/sys/devices/virtual/neuron_device")

ERRORS = (
    "exec_bad_input",
    "failure",
    "generic_error",
    "hw_error",
    "infer_completed_with_error",
    "infer_completed_with_num_error",
    "oob_error",
    "resource_error",
    "resource_nc_error",
    "timeout",
)
"""Return codes of the runtime that mean an execution did not go well."""


class Name(msgspec.Struct, frozen=True, kw_only=True):
    """What device 0 says of itself; "" for what it does not say."""

    device: str = ""  # "Trainium2"
    architecture: str = ""  # "v3"
    instance: str = ""  # "Trn2": a family, not a size


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the devices asked for; None where no file could be read."""

    flops: float | None = None
    executions: float | None = None
    errors: float | None = None
    ecc_uncorrected: float | None = None
    power_percent: float | None = None  # of the maximum, the last minute's average, the busiest device

    def since(self, before: Counters) -> dict[str, float]:
        """What was counted meanwhile; a counter that went backwards was reset and says nothing."""
        counted: dict[str, float] = {}
        for name in ("flops", "executions", "errors", "ecc_uncorrected"):
            now, then = getattr(self, name), getattr(before, name)
            if now is not None and then is not None and now >= then:
                counted[f"driver_{name}"] = now - then
        if self.power_percent is not None:
            counted["power_percent"] = self.power_percent
        return counted


def name(root: Path = ROOT) -> Name:
    """What device 0 calls itself; empty words where the driver's folder does not say."""
    folder = root / "neuron0" / "info" / "architecture"
    return Name(
        device=_text(folder / "device_name"),
        architecture=_text(folder / "arch_type"),
        instance=_text(folder / "instance_type"),
    )


def counters(devices: Iterable[int], root: Path = ROOT) -> Counters:
    """Sums over the cores of `devices`, as they are now."""
    cores = [
        core for index in devices for core in sorted((root / f"neuron{index}").glob("neuron_core[0-9]*"))
    ]
    places = [root / f"neuron{index}" for index in devices]
    powers = [power for path in places if (power := _power(path / "stats" / "power" / "utilization"))]
    return Counters(
        flops=_sum(core / "stats" / "other_info" / "flop_count" for core in cores),
        executions=_sum(core / "stats" / "status" / "success" for core in cores),
        errors=_sum(core / "stats" / "status" / word for core in cores for word in ERRORS),
        ecc_uncorrected=_sum(
            path / "stats" / "hardware" / word
            for path in places
            for word in ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
        ),
        power_percent=max(powers, default=None),
    )


def _sum(paths: Iterable[Path]) -> float | None:
    values = [
        value
        for path in paths
        if (value := number(_text(path / "total") if path.is_dir() else _text(path))) is not None
    ]
    return sum(values) if values else None


def _power(path: Path) -> float | None:
    """<status>,<timestamp>,<min>,<max>,<average>, in percent of the maximum."""
    fields = _text(path).split(",")
    if len(fields) != 5 or fields[0] != "POWER_STATUS_VALID":
        return None
    return number(fields[4].strip().rstrip("%"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
