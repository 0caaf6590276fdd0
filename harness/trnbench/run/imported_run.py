"""Results of another tool as a run: each as a case of ours, judged by the documents as any other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from trnbench.case_key import CaseKey, Division
from trnbench.errors import BadInput, UnknownName, UsageError, counted
from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.generation import System
from trnbench.kernels.kernel import Case, Kernel, Point
from trnbench.kernels.work import FACTORS, Extent, Spread, busbw_factor
from trnbench.record import Record
from trnbench.results.digest import fingerprint_as_written
from trnbench.results.json import dumps_measurement, sealed
from trnbench.results.measurement import GOOD, Evidence, Grade, Measurement, Metric, Reason, Status
from trnbench.results.run import ImportedCase, ImportedRun, Run, SystemRecord
from trnbench.run.extents import extent_of
from trnbench.run.identity import scrub, scrub_all
from trnbench.run.judge import Judge
from trnbench.run.snapshot import now, system_record
from trnbench.store.layout import attached
from trnbench.version import VERSION

if TYPE_CHECKING:
    from trnbench.registry import Registry

ELSEWHERE = "elsewhere"
"""The system of results that are no case of ours and name none."""
_LATENCY = "latency_s"


class Context(Record, kw_only=True):
    """What the user says of a file: `grade` ("" for what the file says itself), and what it leaves open."""

    grade: str = ""
    instance: str = ""
    kernel: str = ""
    ranks: int = 0
    by: str = ""
    policy: PeakPolicy = PeakPolicy.SEED


def imported_run(found: ImportedRun, data: bytes, name: str, told: Context, registry: Registry) -> Run:
    """The run of a file with the content `data`, read by the importer `name`; the same file and words give
    the same id.

    Raises `UsageError` for what nobody says, or the file otherwise; `UnknownName` for a kernel or system;
    `BadInput` for a result that cannot be.
    """
    _refuse_idle(found, told, registry)
    builder = _Builder(found, told, registry)
    measurements: dict[str, Measurement] = {}
    for each in found.cases:
        measurement = builder.measurement(each)
        if measurement.id in measurements:
            raise BadInput(
                f"the file has {measurement.id} twice",
                cause="it holds several runs of the tool, or of several kernels",
                try_="a file for each of them",
            )
        measurements[measurement.id] = measurement
    grades = {each.evidence.grade for each in measurements.values()}
    mark = hashlib.sha256(data + repr(told).encode()).hexdigest()[:10]
    run = Run(
        id=f"{name}-{mark}",
        created=found.created or now(),
        finished=found.created or now(),
        tool_version=VERSION,
        settings={"imported_from": name, "told": msgspec.to_builtins(told)},
        policy=told.policy,
        environment=scrub_all(dict(found.environment)),
        backend=name,
        grade=grades.pop() if len(grades) == 1 else Grade.MEASURED,
        systems=builder.records,
        books={system.generation.name: system.book for system in builder.systems.values()},
        measurements=tuple(measurements.values()),
        notes=(
            f"imported: the numbers are those of {builder.by}, and nothing of them was checked here",
            *filter(None, [_unread(found)]),
        ),
    )
    prints = (fingerprint_as_written(dumps_measurement(each)) for each in run.measurements)
    return sealed(run, (part.mark for part in attached(run)), prints)


_NAMED = 5
"""Rows that a sentence names."""
UNREAD = "not read"
"""Begins the note about rows that cannot be read."""


def _unread(found: ImportedRun) -> str:
    if not found.unread:
        return ""
    more = len(found.unread) - _NAMED
    where = ", ".join(found.unread[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"{UNREAD}: {counted(len(found.unread), 'row')}, cut or of another program ({where})"


def _refuse_idle(found: ImportedRun, told: Context, registry: Registry) -> None:
    """Raises `UsageError` where all cases say themselves, and otherwise, what an option says."""
    system = registry.system(told.instance).name if told.instance else ""
    for flag, typed, named in (
        ("--kernel", told.kernel, {each.kernel for each in found.cases}),
        ("-i", system, {each.instance for each in found.cases}),
    ):
        if typed and "" not in named and typed not in named:
            raise UsageError(
                f"{flag} {typed}: the file is of {', '.join(sorted(named)[:_NAMED])}, as it says itself",
                cause=f"{flag} is for what a file does not say",
                try_=f"leave out {flag}",
            )


class _Builder:
    """Makes measurements; systems and peaks are looked up once."""

    def __init__(self, found: ImportedRun, told: Context, registry: Registry) -> None:
        self.told, self.registry = told, registry
        self.by = scrub(told.by or found.by)
        self.systems: dict[str, System] = {}
        self.records: dict[str, SystemRecord] = {}
        self._judge = Judge(told.policy)

    def measurement(self, each: ImportedCase) -> Measurement:
        if not 0.0 < each.time_s < math.inf:
            raise BadInput(
                f"the file has a time of {each.time_s!r} s, which is no duration",
                cause="the tool failed there, or the file was changed",
                try_="run the tool again",
            )
        name = each.kernel or self.told.kernel
        if not name:
            raise UsageError(
                "the file does not say which kernel it measured",
                cause="tables of collectives name no collective",
                try_="--kernel all_reduce",
            )
        evidence = Evidence(grade=self._grade(each), by=self.by, note="imported; nothing was checked here")
        kernel = self.registry.kernels.get(name)
        if kernel is None and self.told.kernel == name:
            raise UnknownName("kernel", name, self.registry.kernels, try_="trnbench list kernels")
        if kernel is not None and each.family not in ("", kernel.family) and not each.kernel:
            raise UsageError(
                f"the file is of the family {each.family}; {name} is of the family {kernel.family}",
                cause=f"{self.by} measures no other kernels",
                try_=f"--kernel NAME; trnbench list kernels --family {each.family}",
            )
        judged = self._ours(each, kernel, evidence) if kernel else self._stranger(each, name, evidence)
        if each.status is Status.OK or judged.status not in GOOD:
            return judged
        return replace(judged, status=each.status, reason_text="says the file")

    def _grade(self, each: ImportedCase) -> Grade:
        if each.grade and self.told.grade and each.grade != self.told.grade:
            raise UsageError(
                f"these numbers are {each.grade}, not {self.told.grade}",
                cause="the file says so itself",
                try_=f"leave out --grade {self.told.grade}",
            )
        if not each.grade and not self.told.grade:
            raise UsageError(
                "nobody says what these numbers are",
                cause="the file does not tell whether you measured them or others published them",
                try_="--grade measured  or  --grade published",
            )
        return Grade(each.grade or self.told.grade)

    def _system(self, name: str) -> System:
        if not name:
            raise UsageError(
                "the file does not say which system it was measured on",
                cause="peaks are those of a system",
                try_="-i trn2.48xlarge; trnbench list instances",
            )
        if name not in self.systems:
            self.systems[name] = self.registry.system(name)
            self.records[name] = system_record(self.systems[name], {})
        return self.systems[name]

    def _ours(self, each: ImportedCase, kernel: Kernel, evidence: Evidence) -> Measurement:
        system = self._system(each.instance or self.told.instance)
        whole = Scope.INSTANCE in kernel.scopes  # it stands for all of a system
        scope = _scope(each.scope) or (
            system.instance.scope if whole else (kernel.default_scopes or kernel.scopes)[0]
        )
        given = {name: value for name, value in each.point.items() if name != "ranks" or kernel.axis(name)}
        point = _point(kernel, given)
        extent = extent_of(kernel, system, scope, point)
        ranks = _ranks(each, kernel, extent, self.told.ranks)
        notes = each.notes
        if ranks != extent.ranks:
            notes = (
                *notes,
                f"{ranks:,} ranks; a case of {system.name} has {extent.ranks:,}: held against no peak",
            )
        key = CaseKey(
            kernel=kernel.name,
            family=kernel.family,
            instance=system.name,
            generation=system.generation.name,
            scope=scope,
            point={**point, **({"ranks": ranks} if ranks != extent.ranks else {})},
            tags=kernel.tags,
            division=Division(each.division) if each.division else None,
        )
        case = Case(key=key, kernel=kernel, extent=replace(extent, ranks=ranks))
        counts, primary = case.work.as_counts(), case.primary.count
        if primary and not counts.get(primary, 0.0) > 0.0:
            raise BadInput(
                f"{key.id} has no {primary} to give a rate of",
                cause="it has a size of 0, or a single rank",
                try_="leave it out of the file; --rank-count N  for the ranks of a collective",
            )
        return self._judge.told(
            case,
            system,
            evidence,
            time_s=each.time_s,
            samples=each.samples,
            counts=counts,
            notes=notes,
            wrong=_wrong(each),
            judged=ranks == extent.ranks,
        )

    def _stranger(self, each: ImportedCase, name: str, evidence: Evidence) -> Measurement:
        """A result that is no case of ours: its time, and nothing to hold it against."""
        instance = each.instance or self.told.instance
        if instance:
            system = self._system(instance)
            generation = system.generation.name
        else:
            instance = generation = ELSEWHERE
            self.records.setdefault(instance, _elsewhere())
        wrong = _wrong(each)
        return Measurement(
            case=CaseKey(
                kernel=name,
                family="imported",
                instance=instance,
                generation=generation,
                scope=_scope(each.scope) or Scope.INSTANCE,
                point=dict(each.point),
            ),
            evidence=evidence,
            status=Status.FAILED if wrong else Status.OK,
            reason=Reason.WRONG_RESULT if wrong else Reason.NONE,
            reason_text=wrong,
            time_s=each.time_s,
            clock="host",
            samples=each.samples,
            metrics={
                _LATENCY: Metric(
                    name=_LATENCY,
                    value=each.time_s,
                    unit="s",
                    better="lower",
                    scope=Scope.INSTANCE,
                    formula="time of one repetition",
                )
            },
            primary=_LATENCY,
            notes=each.notes,
        )


def _wrong(each: ImportedCase) -> str:
    return f"{each.wrong:,} values were wrong, says the tool" if each.wrong else ""


def _scope(text: str) -> Scope | None:
    try:
        return Scope(text) if text else None
    except ValueError:
        raise BadInput(
            f"{text!r} is no scope", cause="the name of a case ends in @ and its scope", try_="@instance"
        ) from None


def _point(kernel: Kernel, given: Mapping[str, Any]) -> Point:
    """All axes of the kernel in their order; what is not told has the axis' first value."""
    strangers = [name for name in given if kernel.axis(name) is None]
    if strangers:
        raise BadInput(
            f"kernel {kernel.name} has no axis {', '.join(strangers)}",
            cause="the file is of another kernel of this name, or of another version",
            try_=f"trnbench info {kernel.name}",
        )
    point: dict[str, Any] = {}
    for axis in kernel.axes:
        if axis.sides and all(side in given for side in axis.sides):
            point |= {side: given[side] for side in axis.sides}
            continue
        value = given.get(axis.name, axis.values[0])
        if axis.choices and value not in axis.choices:
            raise BadInput(
                f"{value!r} is no {axis.name} of kernel {kernel.name}",
                cause=f"known: {', '.join(map(str, axis.choices))}",
                try_=f"trnbench info {kernel.name}",
            )
        if (axis.kind == "str") is not isinstance(value, str):
            raise BadInput(
                f"axis {axis.name} of kernel {kernel.name} cannot be {value!r}",
                cause=f"its values are of kind {axis.kind}",
                try_=f"trnbench info {kernel.name}",
            )
        point[axis.name] = value
    return point


def _ranks(each: ImportedCase, kernel: Kernel, extent: Extent, told: int) -> int:
    """As told, as listed, as busbw / algbw has it, or those of the system.

    Raises `UsageError` where two of the first three contradict each other.
    """
    of_point = each.point.get("ranks")
    listed = each.ranks or (of_point if isinstance(of_point, int) else 0)
    if kernel.spread is not Spread.TOGETHER:
        if told:
            raise UsageError(
                f"--rank-count {told:,}: {kernel.name} has no ranks",
                cause="ranks are those of collectives",
                try_="leave it out",
            )
        return extent.ranks
    factor = each.rate_factor if kernel.name in FACTORS else None

    def fits(ranks: int) -> bool:
        if factor is None:
            return True
        expected = float(busbw_factor(kernel.name, ranks))
        return abs(factor - expected) <= each.factor_within * expected

    ranks = told or listed or extent.ranks
    if told and listed and told != listed and fits(listed):
        raise UsageError(
            f"the file lists {counted(listed, 'rank')}, not {told:,}",
            cause="--rank-count is for what a file does not say",
            try_="leave out --rank-count",
        )
    if fits(ranks):
        return ranks
    fitting = [count for count in range(2, 4097) if fits(count)]
    if len(fitting) == 1 and not (told or listed):
        return fitting[0]
    raise _contradiction(kernel, factor or 0.0, fitting, told, listed)


def _contradiction(kernel: Kernel, factor: float, fitting: list[int], told: int, listed: int) -> UsageError:
    """Rates of `factor`, which the ranks `fitting` make, and those that are told or listed do not."""
    said, cause, try_ = "no number of ranks makes", "the file is of another collective", "--kernel NAME"
    if fitting:
        few = len(fitting) == 1
        said = f"{fitting[0]:,} ranks make" if few else f"{fitting[0]:,} to {fitting[-1]:,} ranks make"
        cause, try_ = "the rates have too few digits", "--rank-count N"
        if told or listed:
            cause = "--rank-count is of another run" if told else f"the file lists {counted(listed, 'rank')}"
            try_ = f"--rank-count {fitting[0]}" if few else try_
    ending = f", not {told:,}" if told and fitting else ""
    return UsageError(
        f"busbw is {factor:.4g} times algbw, which {said} for {kernel.name}{ending}", cause=cause, try_=try_
    )


def _elsewhere() -> SystemRecord:
    return SystemRecord(
        instance=ELSEWHERE,
        generation=ELSEWHERE,
        title="a system that the file does not name",
        order=10_000,
        scope=Scope.INSTANCE,
        device="",
        core="",
        devices=1,
        cores_per_device=1,
        hosts=1,
    )
