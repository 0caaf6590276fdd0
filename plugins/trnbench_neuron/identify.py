"""Devices of this host, and which documented system they make: all are compared, what differs is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trnbench import Scope, TrnbenchError
from trnbench.generation import System, Systems
from trnbench.record import Record
from trnbench.topology import device_adjacency
from trnbench_neuron.tool import json_of, list_of, run, whole
from trnbench_neuron.toolbox import LISTER, Toolbox, ToolError, Trouble

LIMIT_S = 8.0
"""It asks the driver and the instance's metadata service; longer than this means one of them hangs."""

_INSTANCE_TYPE = re.compile(r"^\s*instance-type\s*:\s*(\S+)\s*$", re.MULTILINE)


class Device(Record, kw_only=True):
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


class Listing(Record, kw_only=True):
    """What `neuron-ls -j` says."""

    devices: tuple[Device, ...]
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
    return read_listing(run([tools.need(LISTER), "-j"], LIMIT_S).stdout)


def read_instance_type(tools: Toolbox) -> str:
    """The EC2 name above the table, "" where it is not printed; its JSON does not have it."""
    try:
        text = run([tools.need(LISTER)], LIMIT_S).stdout
    except ToolError:
        return ""
    match = _INSTANCE_TYPE.search(text)
    return match[1] if match else ""


def read_listing(text: str) -> Listing:
    """The list out of the tool's output. Raises `ToolError` for what is not documented so."""
    entries = json_of(LISTER, text, list)
    devices, notes = [], []
    for position, entry in enumerate(entries):
        device = _device(position, entry)
        devices.append(device)
        if device.memory_bytes == 0:
            notes.append(f"device {device.index} does not say how much memory it has")
    if not devices:
        raise ToolError(
            Trouble.UNREADABLE,
            f"{LISTER} lists no device",
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
        raise ToolError(Trouble.UNREADABLE, f"{LISTER}: entry {position} of its list is no object")
    index, logical = whole(entry.get("neuron_device")), whole(entry.get("nc_count"))
    if index is None or logical is None or logical < 1:
        missing = "neuron_device" if index is None else "nc_count"
        raise ToolError(
            Trouble.VERSION,
            f"{LISTER}: entry {position} of its list has no {missing}",
            cause="another version of the tool prints another format",
            try_="update the package aws-neuronx-tools",
        )
    lnc = whole(entry.get("logical_neuroncore_config"))
    processes = [process for process in list_of(entry.get("neuron_processes")) if isinstance(process, dict)]
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


def _whole_numbers(value: Any) -> tuple[int, ...]:
    numbers = (whole(element) for element in list_of(value))
    return tuple(element for element in numbers if element is not None)


MEMORY_TOLERANCE = 0.01
"""Documents print GiB, the driver bytes; firmware may keep some."""


class Documented(Record, kw_only=True):
    """One host of a documented system."""

    name: str
    aliases: tuple[str, ...] = ()
    hosts: int = 1
    devices: int  # of one host
    device: str = ""
    cores: int  # physical, of one device
    memory_bytes: float = 0.0  # of one device, 0: no document says
    neighbours: tuple[frozenset[int], ...] = ()  # empty: devices are joined by switches, or not described
    default: bool = True


class Match(Record, kw_only=True):
    """`instance` is "" when nothing fits, or several do; `why` says which and what."""

    instance: str = ""
    hosts: int = 1  # of the system; this is one of them
    why: str = ""
    try_: str = ""
    notes: tuple[str, ...] = ()


def document(system: System) -> Documented | None:
    """What the facts say of one host; None for clusters, which are made of instances, and for machines
    without NeuronCores."""
    if system.instance.scope is Scope.CLUSTER or not system.instance.core.startswith("neuroncore-"):
        return None
    count = system.devices // max(system.hosts, 1)
    return Documented(
        name=system.instance.name,
        aliases=system.instance.aliases,
        hosts=system.hosts,
        devices=count,
        device=system.instance.device,
        cores=system.cores_per_device,
        memory_bytes=system.fact(Scope.DEVICE, "hbm_capacity") or 0.0,
        neighbours=_neighbours(system, count),
        default=system.instance.default,
    )


class Known(Record, kw_only=True):
    """Every system that is documented, and what could not be read."""

    systems: tuple[Documented, ...]
    problems: tuple[str, ...] = ()


def documented(systems: Systems) -> Known:
    """A system that cannot be read hides itself alone."""
    entries, problems = [], []
    for name in systems.instance_names():
        try:
            entry = document(systems.system(name))
        except TrnbenchError as error:
            problems.append(f"{name} was not compared: {error.what}")
            continue
        if entry is not None:
            entries.append(entry)
    return Known(systems=tuple(entries), problems=tuple(problems))


def identify(
    seen: Listing, candidates: Iterable[Documented], *, instance_type: str = "", asked: str = ""
) -> Match:
    """The system that `seen` is a host of.

    `asked` is the user's own word and wins over `instance_type`, the machine's; either is held
    against the devices found. Without them, the only documented system that fits is taken.
    """
    documented_ = tuple(candidates)
    by_name = {name: candidate for candidate in documented_ for name in (candidate.name, *candidate.aliases)}
    if asked and asked not in by_name:
        return Match(why=f"{asked!r} is no documented system", try_="trnbench list instances")
    named = by_name.get(asked or instance_type)
    if named is not None:
        misfits = misfit(seen, named)
        word = asked or instance_type
        if misfits:
            return Match(
                why=f"this host calls itself {word}, but {'; '.join(misfits)}"
                if not asked
                else f"this host is no {word}: {'; '.join(misfits)}",
                try_="neuron-ls, and the documents of that instance",
            )
        return Match(instance=named.name, hosts=named.hosts, notes=_notes(seen, named))
    notes = (f"calls itself {instance_type}, which no plugin describes",) if instance_type else ()
    fitting = [candidate for candidate in documented_ if not misfit(seen, candidate)]
    if len({candidate.device for candidate in fitting}) == 1:
        # Several sizes of one device differ in their network: without a name it is the documented one.
        fitting = [candidate for candidate in fitting if candidate.default] or fitting
    # One whole instance is the plainer answer than one host of something larger.
    single_host = [candidate for candidate in fitting if candidate.hosts == 1] or fitting
    if len(single_host) == 1:
        return Match(
            instance=single_host[0].name,
            hosts=single_host[0].hosts,
            notes=(*notes, *_notes(seen, single_host[0])),
        )
    if single_host:
        names = ", ".join(candidate.name for candidate in single_host)
        return Match(
            why=f"its devices fit several systems: {names}",
            try_=f"TRNBENCH_NEURON_INSTANCE={single_host[0].name}, or another of them",
            notes=notes,
        )
    return Match(
        why=_nothing_fits(seen, documented_), try_="trnbench plugin new, to describe it", notes=notes
    )


def misfit(seen: Listing, against: Documented) -> tuple[str, ...]:
    """What of `seen` differs from the document; empty when all of it fits."""
    reasons = []
    if len(seen.devices) != against.devices:
        reasons.append(f"{len(seen.devices)} devices, {against.name} has {against.devices} per host")
    cores = Counter(device.cores for device in seen.devices)
    if set(cores) != {against.cores}:
        had = " and ".join(str(core) for core in sorted(cores))
        reasons.append(f"{had} cores per device (LNC={seen.lnc} counted), {against.name} has {against.cores}")
    sizes = {device.memory_bytes for device in seen.devices if device.memory_bytes}
    if against.memory_bytes and any(
        abs(size - against.memory_bytes) > MEMORY_TOLERANCE * against.memory_bytes for size in sizes
    ):
        had = " and ".join(f"{size / 2**30:.4g}" for size in sorted(sizes))
        reasons.append(f"{had} GiB per device, {against.name} has {against.memory_bytes / 2**30:.4g}")
    if not reasons and against.neighbours and (links := _links(seen)):
        theirs = dict(enumerate(against.neighbours))
        if profile(links) != profile(theirs):
            reasons.append(f"its links are not those of {against.name}")
    return tuple(reasons)


def profile(graph: Mapping[int, frozenset[int]]) -> Counter[tuple[int, ...]]:
    """For every node, how many others are one, two, … links away: the same for the same graph, however
    its nodes are numbered."""
    return Counter(_distances(graph, node) for node in graph)


def _distances(graph: Mapping[int, frozenset[int]], start: int) -> tuple[int, ...]:
    seen, ring, counts = {start}, {start}, []
    while ring := {near for node in ring for near in graph.get(node, ())} - seen:
        seen |= ring
        counts.append(len(ring))
    return tuple(counts)


def _links(seen: Listing) -> dict[int, frozenset[int]]:
    """Neighbours within this host; empty when the tool names none."""
    here = {device.index for device in seen.devices}
    links = {device.index: frozenset(device.neighbours) & here for device in seen.devices}
    return links if any(links.values()) else {}


def _neighbours(system: System, count: int) -> tuple[frozenset[int], ...]:
    try:
        adjacency = device_adjacency(system.topology())
    except TrnbenchError:
        return ()
    first = frozenset(range(count))
    found: Sequence[frozenset[int]] = [neighbours & first for neighbours in adjacency[:count]]
    return tuple(found) if any(found) else ()


def _notes(seen: Listing, against: Documented) -> tuple[str, ...]:
    notes = []
    if against.neighbours and not _links(seen):
        notes.append("neuron-ls names no neighbours: the links were not compared with the document")
    if against.hosts > 1:
        notes.append(f"this host is one of the {against.hosts} of {against.name}")
    if seen.busy:
        held = ", ".join(map(str, seen.busy))
        notes.append(f"other processes hold devices {held}: numbers of shared devices mean little")
    return (*seen.notes, *notes)


def _nothing_fits(seen: Listing, known: Sequence[Documented]) -> str:
    first = seen.devices[0]
    visible = (
        f"{len(seen.devices)} devices of {first.cores} cores (LNC={first.lnc})"
        f" and {first.memory_bytes / 2**30:.4g} GiB"
    )
    if not known:
        return f"{visible}: no plugin describes a system to compare with"
    nearest = min(known, key=lambda each: (len(misfit(seen, each)), abs(each.devices - len(seen.devices))))
    return (
        f"{visible} fit no documented system; nearest is {nearest.name}: {'; '.join(misfit(seen, nearest))}"
    )
