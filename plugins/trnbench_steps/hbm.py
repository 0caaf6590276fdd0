"""Whether what the ranks of a device hold fits into its HBM, as the documents give it."""

from __future__ import annotations

from collections import Counter

import msgspec

from trnbench import Scope, System, UsageError, show
from trnbench_steps.division import Division
from trnbench_steps.memory import Memory, memory


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A model on a system: the fullest device, and what a rank on it holds."""

    system: str
    ranks: int  # that the layout has
    cores: int  # logical ones that the system has
    ranks_per_device: int
    rank: Memory  # of the fullest rank there
    used: float  # bytes on the fullest device
    capacity: float  # bytes of HBM of a device
    capacity_source: str  # id of the source that says so
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.used <= self.capacity

    @property
    def verdict(self) -> str:
        """ "fits", or by how much it does not."""
        if self.fits:
            return "fits"
        return f"does not fit: {show(self.used, 'B')} on a device of {show(self.capacity, 'B')}"


def logical_cores(system: System, lnc: int) -> tuple[int, int]:
    """Cores of the system, and of a device, that are a rank with `lnc` physical cores each (0: the default).

    Raises `UsageError` for an LNC that the system does not have.
    """
    known = tuple(int(each) for each in system.costs.get("lnc", {}).get("values", (1,)))
    if not lnc:
        each = system.logical_cores_per_device if "lnc" in system.costs else system.cores_per_device
        return system.devices * each, each
    if lnc not in known:
        raise UsageError(
            f"{system.name} has no LNC {lnc}",
            cause=f"it has {', '.join(map(str, known))}",
            try_=f"--lnc {known[-1]}",
        )
    each = system.cores_per_device // lnc
    return system.devices * each, each


def fit(division: Division, system: System) -> Fit:
    """Where `division` lies on `system`, and whether it fits there.

    Raises `UsageError` for more ranks than cores, for a core that is not there, and for a system whose
    HBM no document gives.
    """
    layout = division.layout
    cores, per_device = logical_cores(system, layout.lnc)
    highest = max(layout.placement, default=layout.ranks - 1)
    if highest >= cores:
        raise UsageError(
            f"{layout.ranks:,} ranks do not lie on {system.name}"
            if layout.ranks > cores
            else f"core {highest:,} is not on {system.name}",
            cause=f"it has {cores:,} logical cores, {per_device} on each of {system.devices:,} devices",
            try_="a larger system, or lower degrees of --tp, --cp, --dp and --pp",
        )
    capacity, source = _capacity(system)
    stages = tuple(memory(division, stage) for stage in range(layout.pp))
    used, held = _fullest(division, per_device, stages)
    notes = list(division.notes)
    if held.all > capacity / per_device and used <= capacity:
        notes.append(
            f"a rank holds {show(held.all, 'B')}, more than the {show(capacity / per_device, 'B')} that each "
            f"of the {per_device} cores of a device has"
        )
    if idle := cores - layout.ranks:
        notes.append(f"{idle:,} of {cores:,} cores have nothing to do")
    return Fit(
        system=system.name,
        ranks=layout.ranks,
        cores=cores,
        ranks_per_device=per_device,
        rank=held,
        used=used,
        capacity=capacity,
        capacity_source=source,
        notes=tuple(notes),
    )


def _fullest(division: Division, per_device: int, stages: tuple[Memory, ...]) -> tuple[float, Memory]:
    """Bytes on the fullest device, and the fullest rank there."""
    layout = division.layout
    of_stage = layout.ranks // layout.pp
    if not layout.placement and of_stage % per_device == 0:
        # A stage has whole devices: nothing is learnt from going through thousands of ranks.
        mixtures = {frozenset({(stage, per_device)}) for stage in range(layout.pp)}
    else:
        devices: dict[int, Counter[int]] = {}
        for rank in range(layout.ranks):
            devices.setdefault(layout.core(rank) // per_device, Counter())[layout.stage(rank)] += 1
        mixtures = {frozenset(device.items()) for device in devices.values()}

    def bytes_of(mixture: frozenset[tuple[int, int]]) -> float:
        return sum(stages[stage].all * count for stage, count in mixture)

    fullest = max(mixtures, key=lambda each: (bytes_of(each), sorted(each)))
    return bytes_of(fullest), max((stages[stage] for stage, _ in fullest), key=lambda each: each.all)


def _capacity(system: System) -> tuple[float, str]:
    facts = [
        fact
        for fact in system.book.select(system.subject(Scope.DEVICE), "hbm_capacity", scope=Scope.DEVICE)
        if fact.value is not None
    ]
    current = [fact for fact in facts if not fact.superseded_by] or facts
    if not current or current[0].value is None:
        raise UsageError(
            f"no document gives the HBM of {system.name}",
            cause=f"its device, {system.instance.device}, has no fact of hbm_capacity",
            try_="--facts with a file that gives it, see docs/facts.md",
        )
    return current[0].value, current[0].source
