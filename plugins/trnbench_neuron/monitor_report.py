"""What reports of `neuron-monitor` add up to.

Format: Neuron Monitor User Guide, SDK 2.32 (tools/neuron-sys-tools/neuron-monitor-user-guide.rst).
It documents no clock frequency, so none is reported from here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench_neuron.number import at, number

NAME = "neuron-monitor"

_BAD = ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
_ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")


class Watch(msgspec.Struct, frozen=True, kw_only=True):
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
        for runtime in _list(report.get("neuron_runtime_data")):
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
    devices = _list(at(report, "system_data", "neuron_hw_counters", "neuron_devices"))
    values = [value for each in devices for word in _ECC if (value := number(at(each, word))) is not None]
    return sum(values) if values else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
