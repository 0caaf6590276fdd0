"""What this machine is and has: devices, the system they belong to, tools, interpreters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Case, Detection, Scope, Spread, System
from trnbench.record import Record
from trnbench_neuron import identify as identification
from trnbench_neuron import monitor, nccom
from trnbench_neuron.conversation import Interpreters, find
from trnbench_neuron.identify import Known, Listing, Match, identify
from trnbench_neuron.monitor import Name
from trnbench_neuron.neff import target_of
from trnbench_neuron.settings import BETA1, UNVERIFIED, Settings
from trnbench_neuron.toolbox import Toolbox, ToolError, absent

if TYPE_CHECKING:
    from trnbench_emulator.nki.problem import Source

NOT_IN_NUMPY = ("tfloat32",)
"""Types an argument cannot have: NumPy has none, so the kernel would see another and be timed with it."""


class Host(Record, kw_only=True, dict=True):
    """The machine as its tools describe it, and what of the stack is installed."""

    settings: Settings
    detection: Detection
    match: Match = Match()
    listing: Listing | None = None

    @property
    def tools(self) -> Toolbox:
        return Toolbox(self.settings.tools)

    @property
    def sysfs(self) -> Path:
        return Path(self.settings.sysfs) if self.settings.sysfs else monitor.ROOT

    @cached_property
    def interpreters(self) -> Interpreters:
        return find(self.settings)

    @cached_property
    def name(self) -> Name:
        """What device 0 calls itself."""
        return monitor.name(self.sysfs)

    def environment(self) -> dict[str, Any]:
        """Flat facts of the stack. Processes, hosts and ids of the machine are not among them."""
        described: dict[str, Any] = dict(self.interpreters.versions())
        if self.listing is not None:
            first = self.listing.devices[0]
            versions = sorted(
                {version for device in self.listing.devices for version in device.runtime_versions}
            )
            described |= {
                "neuron_device_count": len(self.listing.devices),
                "neuron_cores_per_device": first.cores,
                "logical_nc_config": first.lnc,
                "neuron_device_memory_bytes": first.memory_bytes,
                "neuron_devices_busy": len(self.listing.busy),
                "neuron_instance": self.match.instance,
            }
            if versions:
                described["neuron_runtime_version"] = ", ".join(versions)
        if self.name.device:
            described["neuron_device_name"] = self.name.device
        for variable, value in _neuron_variables().items():
            described[variable.lower()] = value
        for tool in (nccom.NAME, "neuron-monitor", "neuron-explorer"):
            described[f"has_{tool.replace('-', '_')}"] = self.tools.find(tool) is not None
        return described

    def cannot(self, case: Case, system: System) -> str:
        """Why this stack cannot take the case; "" when it can."""
        kinds = case.kernel.implementations
        if "collective" in kinds:
            return self._cannot_collect(case)
        if BETA1 in kinds and self._beta1(system):
            return self._cannot_beta1(case)
        if "nki" not in kinds:
            return f"kernel {case.kernel.name} has no NKI source, and its time is modelled only"
        for interpreter in (self.interpreters.nki, self.interpreters.nrtpy):
            if not interpreter.path:
                return f"{interpreter.why}; {interpreter.try_}"
        if case.kernel.spread is Spread.SHARED:
            return "its programs share one problem, and each core would be given the whole of it here"
        if case.key.scope is Scope.LOGICAL_CORE:
            return "its source is written for one physical core (LNC=1)"
        source = _source(case)
        if source is None:
            return f"the NKI source of {case.kernel.name} does not take this point"
        return next((_another_type(dtype) for _, dtype in source.inputs if dtype in NOT_IN_NUMPY), "")

    def beta1(self, case: Case, system: System) -> bool:
        """Whether Beta 1 is what runs this case here."""
        return BETA1 in case.kernel.implementations and self._beta1(system)

    def cores(self, case: Case) -> list[int]:
        """Physical cores that take part, by the numbers they have at LNC=1."""
        return list(range(max(case.extent.cores, 1)))

    def _beta1(self, system: System) -> bool:
        # Documents name Trainium2 and Trainium3 for today's NKI; second-generation cores have Beta 1.
        return target_of(system.instance.core) == "gen2" and bool(self.interpreters.beta1.path)

    def _cannot_beta1(self, case: Case) -> str:
        if case.extent.cores > 1:
            return "neuronxcc.nki.benchmark times one core"
        if _source(case, BETA1) is None:
            return f"the Beta 1 source of {case.kernel.name} does not take this point"
        return ""

    def _cannot_collect(self, case: Case) -> str:
        operation = str(case.kernel.implementations["collective"])
        if operation not in nccom.OPERATIONS:
            return f"{nccom.NAME} has no {operation}"
        if case.kernel.name != operation:
            return f"{nccom.NAME} runs plain collectives only, {case.kernel.name} is more than one"
        if str(case.key.point.get("dtype", "")) not in nccom.DTYPES:
            return f"{nccom.NAME} has no data type {case.key.point.get('dtype')}"
        if self.tools.find(nccom.NAME) is None:
            return f"{nccom.NAME} is not installed; install the package aws-neuronx-tools"
        if self.listing is not None:
            here = len(self.listing.devices)
            cores = sum(device.logical_cores for device in self.listing.devices)
            if case.extent.ranks not in (here, cores):
                return f"{case.extent.ranks} ranks, this host has {here} devices with {cores} logical cores"
        return ""


def look(settings: Settings, known: Callable[[], Known]) -> Host:
    """What is here. Without `neuron-ls` nothing is started and no plugin is asked."""
    tools = Toolbox(settings.tools)

    try:
        listing = identification.list_devices(tools)
    except ToolError as error:
        return Host(settings=settings, detection=absent(error))
    documented = known()
    instance_type = identification.read_instance_type(tools)
    match = identify(listing, documented.systems, instance_type=instance_type, asked=settings.instance)
    detection = Detection(
        available=bool(match.instance),
        instance=match.instance,
        why=match.why,
        try_=match.try_,
        unverified=(*match.notes, *documented.problems, *UNVERIFIED),
    )
    return Host(settings=settings, detection=detection, match=match, listing=listing)


def _source(case: Case, kind: str = "nki") -> Source | None:
    from trnbench_emulator.nki.problem import (
        source_of,  # with NumPy, which telling what is here does not need
    )

    return source_of(case, kind)


def _another_type(dtype: str) -> str:
    return f"NumPy has no {dtype}: nki would be handed another type, and that one would be timed"


_RECORDED = (
    "NEURON_LOGICAL_NC_CONFIG",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    "NEURON_RT_DBG_CC_DMA_PACKET_SIZE",
    "NEURON_RT_DBG_DMA_PACKETIZATION_SIZE",
    "NEURON_RT_ONE_THREAD_PER_CORE",
    "NEURON_RT_ULTRASERVER_MODE",
    "NEURON_CC_FLAGS",
)
"""Variables that change results; others may hold addresses and paths."""


def _neuron_variables() -> dict[str, str]:
    import os

    return {name: os.environ[name] for name in _RECORDED if os.environ.get(name)}
