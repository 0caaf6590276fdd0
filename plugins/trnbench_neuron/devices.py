"""The devices of this host, as `neuron-ls` lists them.

Format: Neuron LS User Guide, SDK 2.32 (tools/neuron-sys-tools/neuron-ls.rst).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from trnbench_neuron.tool import Toolbox, ToolError, Trouble, json_of, whole

NAME = "neuron-ls"
LIMIT_S = 8.0
"""It asks the driver and the instance's metadata service; longer than this means one of them hangs."""

_HEADER = re.compile(r"^\s*(instance-type|logical-neuroncore-config)\s*:\s*(\S+)\s*$", re.MULTILINE)


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list. Of the processes only their number is kept: the rest is identity."""

    index: int
    logical_cores: int
    lnc: int = 1  # physical cores to a logical one; absent before Trainium2
    memory_bytes: int = 0
    neighbours: tuple[int, ...] = ()
    core_ids: tuple[int, ...] = ()  # of logical cores, over all devices
    processes: int = 0
    runtime_versions: tuple[str, ...] = ()

    @property
    def cores(self) -> int:
        """Physical ones."""
        return self.logical_cores * self.lnc


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What `neuron-ls` says. `instance_type` is "" where only the JSON was read: it has none."""

    devices: tuple[Device, ...]
    instance_type: str = ""
    notes: tuple[str, ...] = ()

    @property
    def lnc(self) -> int:
        return self.devices[0].lnc

    @property
    def busy(self) -> tuple[int, ...]:
        """Devices that a process holds."""
        return tuple(device.index for device in self.devices if device.processes)


def list_devices(tools: Toolbox) -> Listing:
    """Raises `ToolError`, also for a list without a device."""
    return read_listing(tools.run(NAME, ["-j"], limit_s=LIMIT_S).stdout)


def read_instance_type(tools: Toolbox) -> str:
    """The EC2 name above the table, "" where it is not printed; its JSON does not have it."""
    try:
        text = tools.run(NAME, [], limit_s=LIMIT_S).stdout
    except ToolError:
        return ""
    return header(text).get("instance-type", "")


def header(text: str) -> dict[str, str]:
    """The lines above the table that are no identity."""
    return {match[1]: match[2] for match in _HEADER.finditer(text)}


def read_listing(text: str) -> Listing:
    """The list out of the tool's output. Raises `ToolError` for what is not documented so."""
    entries = json_of(NAME, text, list)
    devices, notes = [], []
    for position, entry in enumerate(entries):
        device = _device(position, entry)
        devices.append(device)
        if device.memory_bytes == 0:
            notes.append(f"device {device.index} does not say how much memory it has")
    if not devices:
        raise ToolError(
            Trouble.UNREADABLE,
            f"{NAME} lists no device",
            cause="this instance has none, or the driver is not loaded",
            try_="sudo modprobe neuron",
        )
    devices.sort(key=lambda each: each.index)
    for word, values in (("cores", {d.cores for d in devices}), ("LNC", {d.lnc for d in devices})):
        if len(values) > 1:
            notes.append(f"devices differ in {word}: {', '.join(map(str, sorted(values)))}")
    return Listing(devices=tuple(devices), notes=tuple(notes))


def _device(position: int, entry: Any) -> Device:
    if not isinstance(entry, dict):
        raise ToolError(Trouble.UNREADABLE, f"{NAME}: entry {position} of its list is no object")
    index, logical = whole(entry.get("neuron_device")), whole(entry.get("nc_count"))
    if index is None or logical is None or logical < 1:
        missing = "neuron_device" if index is None else "nc_count"
        raise ToolError(
            Trouble.VERSION,
            f"{NAME}: entry {position} of its list has no {missing}",
            cause="another version of the tool prints another format",
            try_="update the package aws-neuronx-tools",
        )
    lnc = whole(entry.get("logical_neuroncore_config"))
    processes = [process for process in _listed(entry.get("neuron_processes")) if isinstance(process, dict)]
    versions = {str(process.get("neuron_runtime_version", "")) for process in processes}
    return Device(
        index=index,
        logical_cores=logical,
        lnc=lnc if lnc and lnc > 0 else 1,
        memory_bytes=whole(entry.get("memory_size")) or 0,
        neighbours=_whole_numbers(entry.get("connected_to")),
        core_ids=_whole_numbers(entry.get("neuroncore_ids")),
        processes=len(processes),
        runtime_versions=tuple(sorted(process for process in versions if re.fullmatch(r"[\d.]+", process))),
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole_numbers(value: Any) -> tuple[int, ...]:
    numbers = (whole(element) for element in _listed(value))
    return tuple(element for element in numbers if element is not None)
