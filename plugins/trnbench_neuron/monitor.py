"""What the runtime, the devices and the driver count beside a measurement: `neuron-monitor`, sysfs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from trnbench import NotJson, parse_json
from trnbench.record import Record
from trnbench_neuron.tool import at, end, kill, list_of, number, start
from trnbench_neuron.toolbox import Toolbox, ToolError

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


class Name(Record, kw_only=True):
    """What device 0 says of itself; "" for what it does not say."""

    device: str = ""  # "Trainium2"
    architecture: str = ""  # "v3"


class Counters(Record, kw_only=True):
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


def name(root: Path) -> Name:
    """What device 0 calls itself; empty words where the driver's folder does not say."""
    folder = root / "neuron0" / "info" / "architecture"
    return Name(
        device=_text(folder / "device_name"),
        architecture=_text(folder / "arch_type"),
    )


def counters(devices: Sequence[int], root: Path) -> Counters:
    """Sums over the cores of `devices`, as they are now."""
    places = [root / f"neuron{index}" for index in devices]
    cores = [core for path in places for core in sorted(path.glob("neuron_core[0-9]*"))]
    powers = [power for path in places if (power := _power(path / "stats" / "power" / "utilization"))]
    return Counters(
        flops=_sum(core / "stats" / "other_info" / "flop_count" for core in cores),
        executions=_sum(core / "stats" / "status" / "success" for core in cores),
        errors=_sum(core / "stats" / "status" / word for core in cores for word in ERRORS),
        ecc_uncorrected=_sum(path / "stats" / "hardware" / word for path in places for word in _ECC),
        power_percent=max(powers, default=None),
    )


def _sum(paths: Iterable[Path]) -> float | None:
    values = [
        value
        for path in paths
        if (value := number(_text(path / "total" if path.is_dir() else path))) is not None
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


NAME = "neuron-monitor"

_BAD = ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
_ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")


class Watch(Record, kw_only=True):
    """What the reports add up to. `counters` holds only what was reported."""

    counters: dict[str, float] = {}
    device: str = ""  # "trainium2", as the tool names it
    core_version: str = ""
    notes: tuple[str, ...] = ()


def summarise(reports: list[dict[str, Any]]) -> Watch:
    """Sums, maxima and last values over `reports`; identity (names, ids, processes) is not read."""
    sums: dict[str, float] = {}
    tops: dict[str, float] = {}
    ecc: list[float] = []
    errors: dict[str, None] = {}

    def add(key: str, value: float | None) -> None:
        if value is not None:
            sums[key] = sums.get(key, 0.0) + value

    def top(key: str, value: float | None) -> None:
        if value is not None:
            tops[key] = max(tops.get(key, value), value)

    for report in reports:
        counted = _ecc(report)
        if counted is not None:
            ecc.append(counted)
        for runtime in list_of(report.get("neuron_runtime_data")):
            if text := str(at(runtime, "error") or ""):
                errors[text] = None
            groups = at(runtime, "report")
            stats = at(groups, "execution_stats")
            add("executions_completed", number(at(stats, "execution_summary", "completed")))
            for word in _BAD:
                add("executions_failed", number(at(stats, "execution_summary", word)))
            top("device_latency_p50_s", number(at(stats, "latency_stats", "device_latency", "p50")))
            period = number(at(groups, "neuroncore_counters", "period"))
            for core in _dict(at(groups, "neuroncore_counters", "neuroncores_in_use")).values():
                top("utilisation_percent", number(at(core, "neuroncore_utilization")))
                flops = number(at(core, "flops"))
                if flops is not None and period is not None:
                    add("monitor_flops", flops * period)
            used = at(groups, "memory_used", "neuron_runtime_used_bytes", "neuron_device")
            top("device_memory_bytes", number(used))
    counters = {**sums, **tops}
    if len(ecc) > 1 and ecc[-1] >= ecc[0]:
        counters["ecc_uncorrected"] = ecc[-1] - ecc[0]
    last = reports[-1] if reports else {}
    hardware = _dict(last.get("neuron_hardware_info"))
    return Watch(
        counters=counters,
        device=str(hardware.get("neuron_device_type") or ""),
        core_version=str(hardware.get("neuroncore_version") or ""),
        notes=tuple(f"{NAME} could not read a process: {text[:200]}" for text in errors),
    )


def _ecc(report: dict[str, Any]) -> float | None:
    devices = list_of(at(report, "system_data", "neuron_hw_counters", "neuron_devices"))
    values = [value for device in devices for word in _ECC if (value := number(at(device, word))) is not None]
    return sum(values) if values else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


PERIOD_S = 1.0
MAX_PENDING = 4 * 2**20
"""Bytes of a report that never ends, after which it is given up."""
MAX_REPORTS = 3600

RUNTIME_GROUPS = ("neuroncore_counters", "execution_stats", "memory_used")


def configuration(tag: str) -> dict[str, Any]:
    """What is asked of it: processes tagged `tag`, and the memory errors of all devices."""
    return {
        "period": f"{PERIOD_S:g}s",
        "neuron_runtimes": [
            {"tag_filter": f"^{tag}$", "metrics": [{"type": group} for group in RUNTIME_GROUPS]}
        ],
        "system_metrics": [{"type": "neuron_hw_counters"}],
    }


class Monitor:
    """A context: reports are collected while it is open; `watch()` sums them up afterwards.

    A missing, broken or silent tool makes no error: the watch is empty and its notes say why.
    """

    def __init__(self, tools: Toolbox, tag: str) -> None:
        self._tools, self._tag = tools, tag
        self._reports = Reports()
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        self._problem = ""
        self._said = b""

    def __enter__(self) -> Monitor:
        try:
            program = self._tools.need(NAME)
            self._folder = tempfile.TemporaryDirectory(prefix="trnbench-")
            config = Path(self._folder.name) / "monitor.json"
            config.write_text(json.dumps(configuration(self._tag)))
            self._process = start([str(program), "-c", str(config)])
        except ToolError as error:
            self._problem = error.what
            return self
        for target in (self._read, self._listen):
            thread = threading.Thread(target=target, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is not None:
            if kind is None and not self._reports.found:
                # The first report comes after one period; a short case may be done before.
                deadline = time.monotonic() + 2 * PERIOD_S
                while time.monotonic() < deadline and process.poll() is None and not self._reports.found:
                    time.sleep(0.02)
            code = process.poll()
            # Only the group is killed here: closing a pipe under a thread that reads it blocks.
            kill(process)
            for thread in self._threads:
                thread.join(2.0)
            if code is not None:  # its last words may come behind its end
                lines = self._said.decode("utf-8", "replace").strip().splitlines()
                self._problem = f"{NAME} ended with exit code {code}" + (
                    f": {lines[-1][:200]}" if lines else ""
                )
            end(process)
            self._folder.cleanup()

    def watch(self) -> Watch:
        """Sums over what was reported; call it when the context is closed."""
        seen = summarise(self._reports.found)
        notes = [self._problem] if self._problem else []
        if not notes and not self._reports.found:
            notes.append(f"{NAME} reported nothing")
        if self._reports.unreadable:
            notes.append(f"{self._reports.unreadable} lines of {NAME} were no report")
        return replace(seen, notes=(*notes, *seen.notes))

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._reports.feed(line.decode("utf-8", "replace"))
        except (OSError, ValueError):
            return

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        try:
            while chunk := os.read(self._process.stderr.fileno(), 65536):
                self._said = (self._said + chunk)[-4096:]
        except (OSError, ValueError):
            return


class Reports:
    """JSON objects out of a stream of lines, one to a line or printed over several."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.unreadable = 0
        self._pending = ""

    def feed(self, line: str) -> None:
        """Take the next line."""
        if line.startswith("{"):
            if self._pending:
                self.unreadable += 1  # it never ended
            self._pending = line
        elif self._pending:
            self._pending += line
        elif line.strip():
            self.unreadable += 1
            return
        if not self._pending or not line.rstrip().endswith("}"):
            return
        try:
            report = parse_json(self._pending, nan_is_null=True)
        except NotJson:
            if len(self._pending) > MAX_PENDING:
                self._pending, self.unreadable = "", self.unreadable + 1
            return
        self._pending = ""
        if isinstance(report, dict) and len(self.found) < MAX_REPORTS:
            self.found.append(report)
