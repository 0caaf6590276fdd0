"""A run: everything needed to read its results later, its plugins gone; and a run of another tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from trnbench.case_key import Value
from trnbench.errors import ExitCode, brief, counted, listed, worst
from trnbench.facts.fact import FactBook, PeakPolicy, Scope
from trnbench.record import Record
from trnbench.reference import resolve
from trnbench.results.fidelity import Fidelity
from trnbench.results.measurement import ALARMING, Grade, Measurement, Reason, Status, status_words
from trnbench.topology.graph import Topology

if TYPE_CHECKING:
    import pandas
    import pyarrow


SCHEMA_VERSION = 4
# History: 1 first version; 2 adds `fidelity`, None in runs made before; 3 adds `evidence.nearest`, None in
# runs made before, in place of the flag `evidence.unvalidated`, errors of the time in logarithms, and
# `digest`, empty in runs made before; 4 adds `processes`, `interval` and `stability` of a measurement and
# `inputs` of a run, none in runs made before, and the status `inconclusive`.


def state_of(finished: str, interrupted: bool, missing: int) -> str:
    """ "done", "interrupted" (ended early, whatever ended it) or "unfinished" (under way, or killed)."""
    if not finished:
        return "unfinished"
    return "interrupted" if interrupted or missing > 0 else "done"


def shortness(finished: str, interrupted: bool, missing: int) -> str:
    """`interrupted, 152 cases are missing`; "" of a run that is done."""
    state = state_of(finished, interrupted, missing)
    if state == "done" or missing <= 0:
        return "" if state == "done" else state
    return f"{state}, {counted(missing, 'case')} {'is' if missing == 1 else 'are'} missing"


class SystemRecord(Record, kw_only=True, forbid_unknown_fields=True):
    """A system as it was when the run was made."""

    instance: str
    generation: str
    title: str
    order: int  # generations are shown in this order
    scope: Scope
    device: str  # subject of device facts: "trainium2"
    core: str  # subject of core facts: "neuroncore-v3"
    devices: int
    cores_per_device: int
    hosts: int
    aliases: tuple[str, ...] = ()
    topology_summary: dict[str, Any] = {}  # kind, shape, degree, diameter, bisection, …
    plugin: str = ""  # distribution and version that brought it

    def __repr__(self) -> str:
        return brief(self, f"{self.instance} of {self.generation}: {counted(self.devices, 'device')}")


class PluginRecord(Record, kw_only=True, forbid_unknown_fields=True):
    name: str
    distribution: str
    version: str
    error: str = ""


class Run(Record, kw_only=True, forbid_unknown_fields=True):
    """Versioned by `schema_version`; strict JSON (no NaN, no Infinity)."""

    schema_version: int = SCHEMA_VERSION
    id: str
    created: str  # UTC, ISO 8601
    finished: str = ""
    tool_version: str
    argv: tuple[str, ...] = ()
    settings: dict[str, Any] = {}  # policy, seed, jobs, axes, selection: what a rerun needs
    policy: PeakPolicy = PeakPolicy.SEED
    environment: dict[str, Any] = {}  # flat, lower_snake; no identity of the host
    backend: str = ""
    grade: Grade = Grade.EMULATED
    systems: dict[str, SystemRecord] = {}
    books: dict[str, FactBook] = {}  # generation → the facts it was judged by
    topologies: dict[str, Topology] = {}  # instance → graph, for those small enough to draw
    inputs: dict[str, str] = {}  # texts of kernel sources and cost files by name
    plugins: tuple[PluginRecord, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    fidelity: Fidelity | None = None  # the model against published points, of these generations
    interrupted: bool = False
    missing: int = 0  # cases that were planned and are not here
    notes: tuple[str, ...] = ()
    digest: str = ""  # of all the rest (results.digest); empty while it runs, and in runs of old

    def __repr__(self) -> str:
        outcome = status_words(self.counts())
        cases = f"{counted(len(self.measurements), 'case')} {self.grade}"
        return brief(
            self, f"{self.id}: {cases} on {listed(self.systems, 'system')}; {outcome or 'none done'}"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows of it: cases with bars, bands and evidence."""
        return str(resolve("trnbench.results.notebook:html")(self))

    def to_arrow(self) -> pyarrow.Table:
        """The columns of `trnbench export --as csv` in their types, and `samples`: seconds of each one.

        The schema's metadata has the run's id, its schema's version and the version of trnbench that made it.
        Raises `UsageError` where pyarrow is not installed.
        """
        return resolve("trnbench.results.metric_table:to_arrow")(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame. Raises `UsageError` where pyarrow or pandas is not installed."""
        return resolve("trnbench.results.metric_table:to_pandas")(self)

    def counts(self) -> dict[Status, int]:
        """Cases by status, every status present."""
        found = Counter(measurement.status for measurement in self.measurements)
        return {status: found.get(status, 0) for status in Status}

    @property
    def cut_short(self) -> str:
        """As `shortness` says it."""
        return shortness(self.finished, self.interrupted, self.missing)

    @property
    def edited(self) -> bool:
        """Whether it was taken in although its digest belongs to another content."""
        return EDITED in self.notes

    @property
    def all_skipped(self) -> bool:
        """Whether there were cases, and not one of them could run."""
        return bool(self.measurements) and all(
            measurement.status is Status.SKIPPED for measurement in self.measurements
        )

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """0 well, 1 suspect or wrong, 3 crashed, 5 all skipped, 124 timed out, 130 interrupted; with `strict`
        1 for inconclusive as well."""
        gate = (Status.SUSPECT, *([Status.INCONCLUSIVE] if strict else []))
        codes = [ExitCode.EMPTY if self.all_skipped else ExitCode.OK]
        if self.interrupted:
            codes.append(ExitCode.INTERRUPTED)
        for measurement in self.measurements:
            if measurement.status in gate or measurement.reason is Reason.WRONG_RESULT:
                codes.append(ExitCode.GATE)
            elif measurement.status is Status.FAILED:
                codes.append(ExitCode.TIMEOUT if measurement.reason is Reason.TIMEOUT else ExitCode.CRASH)
        return worst(codes)


class ImportedCase(Record, kw_only=True):
    """One result. Empty where the file does not say: the user is asked for it.

    `kernel` and `point` are ours; one that is no kernel of ours keeps its name and is held against nothing.
    `family` is that of all kernels that the tool measures. `rate_factor` is busbw / algbw as printed, which
    tells the ranks where nothing else does, and `factor_within` how far, as a share, it may be off by the
    digits. `wrong`: values that the tool found wrong, None where it did not look. `grade` and a `status`
    other than ok are set where the file is one of our own.
    """

    kernel: str = ""
    family: str = ""
    point: dict[str, Value] = {}
    time_s: float
    samples: tuple[float, ...] = ()
    instance: str = ""
    scope: str = ""
    division: str = ""
    ranks: int = 0
    rate_factor: float | None = None
    factor_within: float = 0.02
    wrong: int | None = None
    status: Status = Status.OK
    grade: str = ""
    notes: tuple[str, ...] = ()


class ImportedRun(Record, kw_only=True):
    """The results of one file. `created` in UTC, ISO 8601, where the file says when it was made; `by` is the
    tool, with its version where that is told; `unread`: where rows stand that cannot be read (`line 7`)."""

    cases: tuple[ImportedCase, ...]
    by: str
    created: str = ""
    environment: dict[str, Any] = {}
    unread: tuple[str, ...] = ()


EDITED = "edited by hand: its digest belongs to another content"
"""The note of such a run."""

_NAMED = 5
SAMPLE = "A sample"
"""Begins the note that says what was left out."""


class CaseMark(NamedTuple):
    """What a case is chosen by; `fraction` of its peak, None where it was not judged."""

    kernel: str
    dtype: str
    scope: str
    instance: str
    status: str
    fraction: float | None


def chosen(marks: Sequence[CaseMark], count: int) -> list[int]:
    """The places of at most `count` cases (more where more than that are kept for certain), in their order.
    The same cases give the same places.

    Kept for certain: what failed, is suspect or inconclusive, and of each kernel, data type, scope and system
    the case nearest to its peak. Of the rest every n-th, so that sweeps stay sweeps.
    """
    if len(marks) <= count:
        return list(range(len(marks)))
    certain = {place for place, mark in enumerate(marks) if mark.status in ALARMING} | _best(marks)
    rest = [place for place in range(len(marks)) if place not in certain]
    room = max(count - len(certain), 0)
    spread = {rest[at * len(rest) // room] for at in range(room)} if room else set()
    return sorted(certain | spread)


def noted(kept: Run, marks: Sequence[CaseMark]) -> Run:
    """`kept`, a sample of cases of these marks, says what was left out. Its digest is of the whole, and is
    left out."""
    left = Counter(mark.kernel for mark in marks)
    left.subtract(measurement.case.kernel for measurement in kept.measurements)
    most = [f"{kernel} {number:,}" for kernel, number in left.most_common(_NAMED) if number]
    more = sum(1 for number in left.values() if number) - len(most)
    others = f" and {more} more" if more > 0 else ""
    note = (
        f"{SAMPLE}: {len(kept.measurements):,} of {len(marks):,} cases. All that failed, are suspect or "
        "inconclusive are here. So is the one nearest to its peak of each kernel, data type, scope and "
        f"system, and of the rest every n-th. Left out: {', '.join(most)}{others}."
    )
    return replace(kept, notes=(*kept.notes, note), digest="")


def _best(marks: Sequence[CaseMark]) -> set[int]:
    """Of each kernel, data type, scope and system the case that stands for its sweep."""
    best: dict[tuple[str, ...], tuple[float, int]] = {}
    for place, mark in enumerate(marks):
        key = mark[:4]
        merit = mark.fraction or 0.0
        if key not in best or merit > best[key][0]:
            best[key] = merit, place
    return {place for _, place in best.values()}
