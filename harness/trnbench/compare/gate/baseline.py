"""A baseline: a run that later ones are compared with, with who accepted it, when and why.

A file of its own, made to be kept beside the code it speaks of: it needs no store, and what was accepted
before is listed with its reason. Of the run it has what a gate asks for (`gated`); files that hold a whole
run are read as well.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from trnbench.bounded import RUNS, read_file
from trnbench.bounded.json import NotJson, parse_json
from trnbench.compare.inputs import FACTS, facts_digest, reached
from trnbench.errors import BadInput, UsageError
from trnbench.record import Record
from trnbench.results.digest import content_digest, is_edited, text_digest
from trnbench.results.json import dumps, dumps_value, loads
from trnbench.results.measurement import Evidence, Measurement, ProcessSamples
from trnbench.results.run import Run

VERSION = 1
_MARK = "trnbench_baseline"


class Acceptance(Record, kw_only=True, forbid_unknown_fields=True):
    """`when`: UTC, ISO 8601. `by` is what was typed, "" where nobody said."""

    run: str
    digest: str  # of the run as it stands in the file
    when: str
    why: str
    by: str = ""


class Baseline(Record, kw_only=True):
    """`accepted`: the latest last; it speaks of `run`."""

    run: Run
    accepted: tuple[Acceptance, ...]


def baseline_in(data: bytes, where: str) -> Baseline | None:
    """The baseline that a file holds, None for everything that is none.

    Raises `BadInput` for one of a newer version, and one that was edited by hand.
    """
    if _MARK.encode() not in data[:100]:
        return None
    try:
        document: Any = parse_json(data, most=RUNS)
    except NotJson:
        return None
    if not isinstance(document, dict) or _MARK not in document:
        return None
    if document[_MARK] != VERSION:
        raise BadInput(
            f"{where} is a baseline of version {document[_MARK]!r}; this trnbench reads version {VERSION}",
            cause="a newer trnbench wrote it, or it was edited by hand",
            try_="trnbench gate accept  writes a new one",
        )
    try:
        accepted = msgspec.convert(document.get("accepted"), tuple[Acceptance, ...])
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{where}: accepted is not as `trnbench gate accept` writes it: {error}",
            cause="the file was edited by hand",
            try_="take it back from your version control",
        ) from None
    inner: dict[str, Any] = document.get("run") or {}
    run = loads(msgspec.json.encode(inner), f"the run in {where}")
    if is_edited(inner) or not accepted or accepted[-1].digest != inner.get("digest"):
        raise BadInput(
            f"the run in {where} was edited: its digest belongs to another content",
            cause="a figure in it was changed without being accepted",
            try_="take it back from your version control, or: trnbench gate accept",
        )
    return Baseline(run=run, accepted=accepted)


def written(baseline: Baseline) -> bytes:
    """The file, as text whose first lines say who accepted what and why. Raises `BadInput` like `dumps`."""
    dumps(baseline.run)  # says what JSON cannot hold
    document = _without_defaults(baseline.run)
    document["schema_version"] = baseline.run.schema_version
    document["digest"] = content_digest(document)
    accepted = json.loads(dumps_value(baseline.accepted, "the baseline"))
    accepted[-1]["digest"] = document["digest"]
    head = json.dumps({_MARK: VERSION, "accepted": accepted}, indent=1, ensure_ascii=False)
    run = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f'{head.removesuffix(chr(10) + "}")},\n "run": {run}\n}}\n'.encode()


def gated(run: Run) -> Run:
    """What a gate needs of a run: of cases what they are, their values, states and times by process; what
    their numbers follow from, to name causes: texts of their own sources, digests of all else."""
    own = {name for each in run.measurements for name in reached(each.implementation, run.inputs)}
    return replace(
        run,
        measurements=tuple(map(_case, run.measurements)),
        inputs={name: text if name in own else text_digest(text) for name, text in run.inputs.items()}
        | {f"{FACTS}{name}": facts_digest(book) for name, book in run.books.items()},
        books={},
        argv=(),
        systems={},
        topologies={},
        fidelity=None,
        notes=(),
    )


def _case(measurement: Measurement) -> Measurement:
    evidence = measurement.evidence
    return Measurement(
        case=measurement.case,
        evidence=Evidence(grade=evidence.grade, by=evidence.by, version=evidence.version),
        status=measurement.status,
        reason=measurement.reason,
        reason_text=measurement.reason_text,
        time_s=measurement.time_s,
        processes=tuple(
            ProcessSamples(samples=(), time_s=process.time_s, conditions=process.conditions)
            for process in measurement.processes
        ),
        stability=measurement.stability,
        metrics={name: replace(metric, formula="") for name, metric in measurement.metrics.items()},
        primary=measurement.primary,
        implementation=measurement.implementation,
        detail={key: measurement.detail[key] for key in ("rank", "context") if key in measurement.detail},
    )


def _without_defaults(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {
            field.name: _without_defaults(held)
            for field in msgspec.structs.fields(value)
            if not _is_default(held := getattr(value, field.name), field)
        }
    if isinstance(value, dict):
        return {key: _without_defaults(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_without_defaults(held) for held in value]
    return msgspec.to_builtins(value)


def _is_default(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    if field.default is not msgspec.NODEFAULT:
        return bool(value == field.default)
    return field.default_factory is not msgspec.NODEFAULT and value == field.default_factory()


def check_unedited(run: Run) -> None:
    """Raise `UsageError` for a run of whose figures nobody knows who made them."""
    if run.edited:
        raise UsageError(
            f"run {run.id} was edited by hand: a gate neither judges it nor judges by it",
            cause="its digest belongs to another content; it was imported with --anyway",
            try_="the same command again, as a new run; or compare, which takes both as they are",
        )


def accepted(run: Run, path: Path, *, why: str, by: str = "", force: bool = False) -> Baseline:
    """The baseline that `path` is to hold: what a gate needs of the run, and this
    after what was accepted there before.

    Raises `UsageError` for a run that has not ended or was edited, and for a file that is no baseline
    unless `force`.
    """
    if run.cut_short:
        raise UsageError(
            f"run {run.id} cannot be a baseline: it was cut short: {run.cut_short}",
            cause="cases are missing from it",
            try_=f"trnbench resume {run.id}",
        )
    check_unedited(run)
    if not run.digest:
        raise UsageError(
            f"run {run.id} cannot be a baseline: it has no digest, by which an edit would show",
            cause="it was made before runs had one",
            try_="the same command again, as a new run",
        )
    before: tuple[Acceptance, ...] = ()
    if path.exists() and not force:
        baseline = baseline_in(read_file(path, most=RUNS), str(path))
        if baseline is None:
            raise UsageError(
                f"{path} exists and is no baseline",
                cause="it is not overwritten, in case it is needed",
                try_="--force  overwrites it; or name another file with -o",
            )
        before = baseline.accepted
    this = Acceptance(
        run=run.id, digest=run.digest, when=datetime.now(UTC).isoformat(timespec="seconds"), why=why, by=by
    )
    return Baseline(run=gated(run), accepted=(*before, this))
