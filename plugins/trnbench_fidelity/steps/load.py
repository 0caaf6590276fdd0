"""Published steps of models, from TOML, strictly: an error names the file, the entry and what to write."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.facts.table import Place, near, read_content
from trnbench.record import Record
from trnbench_fidelity.published_points import check_id, check_owned, errors_by_point, opened, points_of
from trnbench_steps.job import Job, Task, check_job
from trnbench_steps.layout import Layout, check_layout

if TYPE_CHECKING:
    from trnbench.registry import Registry


class Metric(StrEnum):
    """How a printed figure is the time of a step; by its unit."""

    PER_TOKEN = "ms/token"  # of one decoding step
    MILLISECONDS = "ms"  # of one step
    SECONDS = "s"  # of one step
    SEQUENCES = "seq/s"  # the step's batch in so many seconds
    RATE = "tok/s"  # of all sequences of a decoding step, one token each
    TOKENS = "tokens/s"  # of whole requests: no step
    SHARE = "%"  # of a peak: no step


class Reading(Record, kw_only=True, forbid_unknown_fields=True):
    """A decision by which a printed row becomes a step, with the source that says so."""

    id: str
    says: str
    source: str = ""


class PublishedStep(Record, kw_only=True, forbid_unknown_fields=True):
    """`hardware`, `instances`, `model_printed`, `types_printed`, `metric`, `unit`, `printed` and `stated` are
    the source's own: `stated` has batch, lengths and degrees by name, as far as they are stated.

    `model` (one that trnbench describes), `system`, `layout` and `job` are that row read as a step by
    `readings`; without `head` the step ends behind the last layer. A point without a job is none that can
    be composed, and `note` says why; elsewhere `note` says what the source leaves open.
    """

    id: str
    generation: str
    source: str
    locator: str
    hardware: str
    instances: int
    model_printed: str
    types_printed: str
    metric: str
    unit: Metric
    printed: str
    task: Task
    stated: dict[str, int] = {}
    note: str = ""
    model: str = ""
    system: str = ""
    head: bool = True
    layout: Layout = Layout()
    job: Job | None = None
    readings: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be composed as stated."""
        return self.job is not None

    @property
    def time_s(self) -> float:
        """Seconds of the step. Raises `ValueError` for a point that is none."""
        if self.job is None:
            raise ValueError(f"{self.id} is no step: {self.note}")
        value = float(self.printed)
        if self.unit in (Metric.SEQUENCES, Metric.RATE):
            return self.job.batch / value
        return value if self.unit is Metric.SECONDS else value * 1e-3


class Frozen(Record, kw_only=True):
    """Points that no rule after `version` of the model was chosen by, each with its error then.

    ln(model / published), with constants that were fitted without its model.
    """

    version: str
    errors: dict[str, float]


class PublishedSteps(Record, kw_only=True):
    """The points of one file, by id the readings that they name, and the list of those kept apart."""

    points: tuple[PublishedStep, ...]
    readings: dict[str, Reading]
    frozen: Frozen | None = None


T = TypeVar("T")

_TABLES = ("schema", "frozen", "reading", "group")
_TEXTS = (
    "id",
    "source",
    "locator",
    "hardware",
    "model_printed",
    "types_printed",
    "metric",
    "unit",
    "printed",
)
_KEYS: dict[str, type] = {
    **dict.fromkeys((*_TEXTS, "task", "use", "note", "model", "system"), str),
    "instances": int,
    "head": bool,
    "readings": list,
    **dict.fromkeys(("stated", "layout", "job"), dict),
}
_REQUIRED = (*_TEXTS, "task", "use", "instances")
_OURS = ("model", "system", "layout", "job", "readings", "head")
STATED = ("batch", "seq_len", "input_len", "output_len", "tp", "pp", "dp")
USES = ("step", "none")


def load_steps(path: Path, generation: str = "") -> PublishedSteps:
    """The points of one file, in its order, and its readings.

    Raises `MissingFile`, `BadInput` for what is no TOML, and `FactError` for an entry that breaks a rule: a
    key that is unknown, missing or of the wrong kind, a reading that is not there, an id used twice, a figure
    that is no time of a step.
    """
    place, document = opened(path, read_content(path), _TABLES)
    readings = _readings(place, document)
    points = points_of(
        place,
        document,
        lambda where, row: _point(where, row, generation, readings),
        together=("job", "layout"),
    )
    named = {name for point in points.values() for name in point.readings}
    for name in readings:
        if name not in named:
            raise place.error(f"no point is read by {name!r}", try_="name it in readings, or leave it out")
    frozen = _frozen(place, document.get("frozen"), points)
    return PublishedSteps(points=tuple(points.values()), readings=readings, frozen=frozen)


def _frozen(place: Place, listed: object, points: Mapping[str, PublishedStep]) -> Frozen | None:
    """The list of points that were kept apart, where the file has one."""
    if listed is None:
        return None
    where = place.at("frozen")
    table = where.table(listed)
    where.check(table, {"version": str, "errors": dict}, ("version", "errors"))
    return Frozen(version=table["version"], errors=errors_by_point(where, table, points))


def _readings(place: Place, document: Mapping[str, Any]) -> dict[str, Reading]:
    readings: dict[str, Reading] = {}
    for where, row in place.tables(document, "reading"):
        where.check(row, {"id": str, "says": str, "source": str}, ("id", "says"))
        if row["id"] in readings:
            raise where.error(f"id {row['id']!r} is used twice", try_="give each reading an id of its own")
        readings[row["id"]] = Reading(**row)
    return readings


def _point(
    where: Place, row: dict[str, Any], generation: str, readings: Mapping[str, Reading]
) -> PublishedStep:
    where.check(row, _KEYS, _REQUIRED)
    unit, task = Metric(where.word(row, "unit", Metric)), Task(where.word(row, "task", Task))
    where.word(row, "use", USES)
    check_id(where, row["id"])
    stated = row.get("stated", {})
    for key, value in stated.items():
        if key not in STATED:
            raise where.error(f"unknown key 'stated.{key}'", cause=near(key, STATED))
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise where.error(f"stated.{key} is {value!r}", try_="a whole number above zero, or leave it out")
    printed = _number(where, row["printed"])
    texts = {key: row[key] for key in (*_TEXTS, "note") if key in row}
    fields = {**texts, "unit": unit, "task": task, "stated": stated, "instances": row["instances"]}
    if row["use"] == "none":
        if not row.get("note"):
            raise where.error("use is none, but not why", try_='note = "the batch is not stated"')
        for key in _OURS:
            if key in row:
                raise where.error(
                    f"use is none, but {key} says how it is composed", try_="leave out one of the two"
                )
        return PublishedStep(generation=generation, **fields)
    where.check(row, _KEYS, ("model", "system", "job", "readings"))
    if unit in (Metric.TOKENS, Metric.SHARE) or printed <= 0:
        raise where.error(
            f"{row['printed']} {unit} is no time of a step", try_='use = "none" and a note that says why'
        )
    for name in row["readings"]:
        if name not in readings:
            raise where.error(f"no reading {name!r}", cause=near(name, readings))
    job = _made(where.at("job"), {**row["job"], "task": str(task)}, Job)
    layout = _made(where.at("layout"), row.get("layout", {}), Layout)
    try:
        check_job(job)
        check_layout(layout)
    except TrnbenchError as error:
        raise where.error(error.what, cause=error.cause) from None
    ours = {"model": row["model"], "system": row["system"], "head": row.get("head", True)}
    return PublishedStep(
        generation=generation, layout=layout, job=job, readings=tuple(row["readings"]), **ours, **fields
    )


def _number(where: Place, printed: str) -> float:
    try:
        return float(printed)
    except ValueError:
        raise where.error(
            f"printed is {printed!r}", try_='the digits of the source: printed = "7.03"'
        ) from None


def _made(where: Place, row: Mapping[str, Any], kind: type[T]) -> T:
    """A job or layout of the keys of a table."""
    known = kind.__struct_fields__  # type: ignore[attr-defined]
    for key in row:
        if key not in known:
            raise where.error(f"unknown key {key!r}", cause=near(key, known))
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise where.error(str(error)) from None


def published_steps(registry: Registry, generations: Collection[str] = ()) -> dict[str, PublishedSteps]:
    """Generation → its steps, for those that bring a file of them.

    Raises what `load_steps` raises, and `FactError` when two files have a point of one id.
    """
    by_generation: dict[str, PublishedSteps] = {}
    owners: dict[str, Path] = {}
    for name, generation in registry.generations.items():
        path = generation.steps_file
        if path is None or (generations and name not in generations):
            continue
        by_generation[name] = load_steps(path, name)
        check_owned(path, (point.id for point in by_generation[name].points), owners)
    return by_generation
