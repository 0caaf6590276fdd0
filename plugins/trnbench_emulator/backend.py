"""The emulated backend: any documented system, on any machine."""

from __future__ import annotations

import shlex
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from trnbench.backend import READS, Detection, Observation
from trnbench.distribution import versions
from trnbench.errors import KernelError
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Spread
from trnbench.record import Record
from trnbench.reference import resolve
from trnbench.results.measurement import Evidence, Grade, Part
from trnbench_emulator import TICKS_PER_SECOND, seconds, ticks_up

if TYPE_CHECKING:
    from trnbench_emulator.core.cases import CaseModel
    from trnbench_emulator.estimate import Estimate

MODEL = "trnbench schedule + flows"
MODEL_VERSION = "11"
# History: 1 engine sums and closed forms; 2 collectives as flows on links; 3 kernels scheduled; 4 transfers
# by engine, path and descriptor, one fixed time of instructions, loads and stores apart; 5 banks of PSUM;
# 6 triggers in the queues of engines, semaphores; 7 zeros in PSUM overwritten, boxes of device memory in
# every dimension, latency of transfers and not of descriptors, Beta 1's copies by hardware, launches;
# 8 tiles of Beta 1 wait for a place in SBUF and PSUM; 9 Vector and Scalar read products of Beta 1 in PSUM;
# 10 GpSimd starts transfers whose address is known at run time alone, and writes a gather's descriptors.

SCHEDULED = "instruction by instruction: queues, operands, buffers, DMA engines; costs as documented"
LINKS = "flows on the documented links, max-min fair; starts and efficiencies fitted to published points"


class CaseAnswers(Protocol):
    """What a reference among a kernel's implementations, of kind "model", names: as `Backend`."""

    def unsupported(self, case: Case, system: System) -> str: ...

    def observe(self, case: Case, system: System) -> Observation: ...


class KernelQuestion(Record, kw_only=True):
    """Somebody's NKI kernel. `source` is "path/to/file.py::function" or "package.module:name"; `operation` is
    what an installed kernel that is written by it does, in the words of published points, else ""."""

    source: str
    dtype: str
    operation: str = ""


class CollectiveQuestion(Record, kw_only=True):
    """One collective, or message, of `size` bytes over `ranks` on `nodes` hosts."""

    collective: str
    size: float
    ranks: int
    cores_per_rank: int
    nodes: int = 1
    context: str
    point_to_point: bool = False


FACTS_READ = (
    "array_columns", "array_rows", "clock", "core_count", "device_count", "dma_bandwidth",
    "dma_engine_bandwidth", "dma_engine_count", "efa_adapter_bandwidth", "efa_adapter_count", "efa_bandwidth",
    "elements_per_cycle", "hbm_bandwidth", "hbm_capacity", "host_count", "host_link_bandwidth", "latency",
    "neuronlink_bandwidth", "partition_count", "psum_bank_count", "psum_capacity", "rate_factor",
    "sbuf_capacity", "sbuf_partition_capacity",
)  # fmt: skip
"""Metrics of the facts that have a say in a time: no other fact is a cause of another time."""

PROGRAMS_READ = (
    "array_columns", "array_rows", "clock", "dma_bandwidth", "dma_engine_bandwidth", "dma_engine_count",
    "elements_per_cycle", "hbm_bandwidth", "partition_count", "psum_bank_count", "psum_capacity",
    "rate_factor", "sbuf_capacity", "sbuf_partition_capacity",
    "assumption:core-signal-latency", "assumption:dma-trigger", "assumption:host-launch-overhead",
    "assumption:semaphore-latency",
    *(f"cost:{table}" for table in (
        "access", "assumptions", "carried", "constants", "dma", "exclusions", "fits", "instructions",
        "latency", "launch", "limits", "throttle",
    )),
)  # fmt: skip
LINKS_READ = (
    "core_count", "device_count", "efa_adapter_bandwidth", "efa_adapter_count", "efa_bandwidth",
    "hbm_bandwidth", "host_count", "host_link_bandwidth", "latency", "neuronlink_bandwidth",
    "assumption:*", "cost:assumptions", "cost:collectives", "cost:dma", "cost:fabric", "cost:lnc",
)  # fmt: skip
"""What times of programs on cores, and of collectives, follow from; a graph may be built with any assumption.
What is read to tell whether a case fits its system moves no time."""


class EmulatedBackend:
    """Kernels on cores by a schedule of their instructions, links by flows that share them."""

    name = "emulated"

    def detect(self) -> Detection:
        return Detection(available=True, instance="")

    def environment(self) -> dict[str, Any]:
        return {
            "emulator_model": MODEL,
            "emulator_model_version": MODEL_VERSION,
            "emulator_tick_s": 1 / TICKS_PER_SECOND,
            **{f"{name}_version": version for name, version in _versions().items()},
            READS: " ".join(FACTS_READ),
            f"{READS}_nki": " ".join(PROGRAMS_READ),
            f"{READS}_collective": " ".join(LINKS_READ),
        }

    def worked_out_with(self) -> tuple[str, ...]:
        """The emulator itself, and of the core what stands below a backend: all of it may have a say in a
        time."""
        core = ("peaks", "kernels.extent", "kernels.work", "kernels.kernel", "topology", "facts", "results")
        return ("trnbench_emulator", *(f"trnbench.{name}" for name in (*core, "backend", "generation")))

    def unsupported(self, case: Case, system: System) -> str:
        kinds = case.kernel.implementations
        if not system.costs:
            subject = "a transfer" if case.kernel.spread.linked else "a core"
            return f"{system.generation.name} has no cost table, so no time follows for {subject}"
        if (model := _model(case)) is not None:
            return model.unsupported(case, system)
        if "collective" in kinds or case.kernel.spread.linked:
            from trnbench_emulator.fabric.cases import KNOWN, groups_of
            from trnbench_emulator.fabric.systems import Options, fabric_of

            name = str(kinds.get("collective", ""))
            if name not in KNOWN:
                return f"the emulator has no model of the collective {name or case.kernel.name!r}"
            if case.kernel.groups and not groups_of(case, fabric_of(system, Options(level=case.kernel.rank))):
                return f"no devices of {system.name} are the groups that {case.kernel.name} measures"
            return ""
        work = case.work
        if not (work.flops or work.engine_flops or work.bytes):
            return f"kernel {case.kernel.name} counts no operations and no bytes, so no time follows"
        return ""

    def observe(self, case: Case, system: System) -> Observation:
        """Deterministic: the same case on the same facts gives the same picosecond."""
        if (model := _model(case)) is not None:
            return model.observe(case, system)
        kinds = case.kernel.implementations
        if "collective" in kinds or case.work.bytes.get("host"):
            from trnbench_emulator.fabric.cases import estimate

            return _observation(estimate(case, system), LINKS)
        try:
            timed = self._cores.estimate(case, system)
        except KernelError as error:
            raise KernelError(
                error.what, cause=error.cause, try_="; ".join(filter(None, (error.try_, _command(case))))
            ) from error
        if timed.formula:
            return _derived(timed)
        observation = _observation(timed, SCHEDULED)
        return replace(
            observation,
            detail={**observation.detail, **_traced(case)},
        )

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: loaded kernels and what was worked out with them stay in the process that did."""
        return {}

    @cached_property
    def _cores(self) -> CaseModel:
        from trnbench_emulator.core.cases import CaseModel

        return CaseModel()


def _traced(case: Case) -> dict[str, str]:
    """How to see its timeline."""
    command = _command(case)
    return {"command": f"{command} --trace {case.key.kernel}.json"} if command else {}


def _command(case: Case) -> str:
    """What runs the same kernel alone at the same point; "" where no axes of the kernel say that point."""
    case = case.share
    if any(case.kernel.axis(name) is None for name in case.key.point):
        return ""
    words = ["trnbench", "nki", "run", case.key.kernel, "-i", case.key.instance]
    for name, value in case.key.point.items():
        words += ["--arg", f"{name}={value}"]
    if case.kernel.spread is Spread.SHARED:
        words += ["--grid", str(case.extent.cores)]
    elif case.extent.cores > 1:
        alone = "logical-core" if case.key.scope is Scope.LOGICAL_CORE else "device"
        words += ["--cores", alone if case.extent.devices == 1 else "instance"]
    return shlex.join(words)


def _derived(timed: Estimate) -> Observation:
    """A time that follows from a formula: no instruction was emulated."""
    from trnbench_emulator.core.roofline import FORMULA

    return replace(
        _observation(timed, ""),
        evidence=Evidence(grade=Grade.DERIVED, by=FORMULA, version=MODEL_VERSION, note=timed.formula),
        stop_reason="formula",
    )


def _model(case: Case) -> CaseAnswers | None:
    """What answers for cores and links together, where the kernel names it."""
    reference = case.kernel.implementations.get("model", "")
    if ":" not in reference:
        return None
    answers: CaseAnswers = resolve(reference)
    return answers


def _observation(seen: Estimate, reach: str) -> Observation:
    time_s = seconds(ticks_up(seen.time_s))
    return Observation(
        evidence=Evidence(
            grade=Grade.EMULATED,
            by=MODEL,
            version=MODEL_VERSION,
            note=reach,
        ),
        time_s=time_s,
        samples=(time_s,),
        clock="model",
        stop_reason="deterministic model",
        parts=tuple(Part(name=part.name, seconds=seconds(ticks_up(part.seconds))) for part in seen.parts),
        bound=seen.bound,
        implementation=seen.implementation,
        counters=dict(seen.counters),
        notes=seen.notes,
        detail=seen.detail,
        doubts=seen.doubts,
        loads=seen.loads,
    )


@cache
def _versions() -> dict[str, str]:
    return versions(("numpy", "ml_dtypes"))
