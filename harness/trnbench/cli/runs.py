"""`trnbench runs`: what the store holds, and the cases of a run."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import click

from trnbench.case_key import joint
from trnbench.errors import UnknownName, UsageError, counted, listed
from trnbench.extension import TraceFile, check_drawn
from trnbench.facts.units import percent, signed_percent
from trnbench.facts.units import show as show_value
from trnbench.reference import called, resolve
from trnbench.results.expectation import expected, nearness_of
from trnbench.results.measurement import Measurement, status_words
from trnbench.results.run import Run
from trnbench.store.store import RunSummary, Store
from trnbench.terminal.cell import VITAL, WANTED, Column, Columns
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, mention, say
from trnbench.terminal.vocabulary import STATUSES, TIMELINE

_APART = 1e-9  # of a time that is the same


def trace(
    shared: Session, /, *, run: str, case: str, output: Path | None, trace_limit: int, force: bool
) -> None:
    """Write the timeline of CASE, an emulated case of a stored run, for Perfetto; print the file's name."""
    from trnbench.terminal.target import check_timeline, deliver  # not for the list

    output = output or Path(TIMELINE)
    check_timeline(output, force=force)
    stored, found = stored_case(shared, run, case)
    draw = check_drawn(shared.registry.traces.get(stored.backend), "timeline", stored.backend, found.id)
    about = {"tool": f"trnbench {stored.tool_version}", "run": stored.id, "case": found.id}
    file: TraceFile = called(draw)(found, shared.registry, about, trace_limit)
    if found.time_s is not None and abs(file.time_s / found.time_s - 1.0) > _APART:
        say(f"warning: the run had {found.time_s:.6g} s, the model now gives {file.time_s:.6g} s")
    deliver(output, file.data)
    mention(f"{file.slices:,} slices, {len(file.data):,} bytes; open it at ui.perfetto.dev")
    if file.note:
        say(f"note: {file.note}")


def list_(shared: Session, /, *, tags: tuple[str, ...], format: str) -> None:
    """List stored runs, oldest first."""
    with shared.open_store() as store:
        found = [each for each in store.list() if set(tags) <= set(each.tags)]
        rows = [run_row(each) for each in found]
        people = (
            "run",
            Column("evidence", keep=WANTED),
            Column("cases_text", "cases", "right"),
            Column("outcome", keep=WANTED),
            "state",
            "tags",
        )
        every = ("run", "created", "evidence", "backend", "policy", "cases", *STATUSES, "state", "tags")
        emit(rows, every if format == "csv" else people, format)
        if not rows:
            what = f"no run has the tag {', '.join(tags)}" if tags else "no run is stored"
            how = f"trnbench runs tag RUN {tags[0]}" if tags else "trnbench run"
            say(f"{what} in {store.path}; make one with: {shared.typed(how)}")


def show(
    shared: Session,
    /,
    *,
    run: str,
    statuses: tuple[str, ...],
    kernels: tuple[str, ...],
    instances: tuple[str, ...],
    format: str,
) -> None:
    """Show the cases of a stored run."""
    with shared.open_store() as store:
        stored = store.load(run)
    cases = [each for each in stored.measurements if wanted(each, statuses, kernels, instances)]
    if stored.measurements and not cases:
        ran = listed(sorted({each.case.kernel for each in stored.measurements}), "kernel")
        systems = listed(sorted({each.case.instance for each in stored.measurements}), "system")
        mention(f"no case of run {stored.id} is chosen; it has {ran} on {systems}")
    if format == "json":
        emit_json({"run": run_head(stored), "cases": [case_row(each) for each in cases]})
        return
    if format == "table":
        say(opening(stored, len(cases)))
    columns: Columns = (
        Column("id", "case"),
        Column("status", keep=VITAL),
        Column("time", align="right", keep=VITAL),
        Column("shown", "result", "right", keep=VITAL),
        # Between the processes of measured cases; others have none.
        *([Column("within", "±", "right", keep=VITAL)] if any(each.interval for each in cases) else []),
        Column("of_peak", "of peak", "right", keep=VITAL),
        Column("evidence", keep=VITAL),
        "near",
        Column("expect", align="right"),
        Column("reason", keep=WANTED),
    )
    exact = (
        *("instance", "case", "status", "metric", "value", "unit", "fraction", "evidence", "near"),
        *("time_s", "interval_low_s", "interval_high_s", "processes", "stability"),
        *("expected_low", "expected_high", "best_published", "best_published_id", "reason"),
    )
    emit([case_row(each) for each in cases], exact if format == "csv" else columns, format)


def delete(shared: Session, /, *, runs: tuple[str, ...], yes: bool) -> None:
    """Delete stored runs."""
    with shared.open_store() as store:
        ids = tuple(dict.fromkeys(store.resolve(each) for each in runs))
        _confirm(f"delete {', '.join(ids)} from {store.path}?", yes=yes)
        store.delete(ids)
        say(f"deleted {', '.join(ids)}")


def tag(shared: Session, /, *, run: str, tags: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give a stored run tags, or take them away; print those it has."""
    with shared.open_store() as store:
        now = store.tag(store.resolve(run), add=tags, remove=remove)
        click.echo(" ".join(now))


def prune(
    shared: Session, /, *, keep: int | None, older_than: float | None, tagged: bool, dry_run: bool, yes: bool
) -> None:
    """Delete old runs without a tag, and print their ids."""
    if keep is None and older_than is None:
        raise UsageError(
            "nothing says which runs are old", cause="--keep or --older-than is needed", try_="--keep 10"
        )
    with shared.open_store() as store:
        found = [each for each in store.list() if tagged or not each.tags]
        doomed = _doomed(found, keep, older_than)
        if not doomed:
            say("nothing to delete")
            return
        if not dry_run:
            _confirm(f"delete {counted(len(doomed), 'run')} from {store.path}?", yes=yes)
            store.delete([each.id for each in doomed])
        for each in doomed:
            click.echo(each.id)


def _doomed(
    found: list[RunSummary], keep: int | None, older_than: float | None, now: datetime | None = None
) -> list[RunSummary]:
    """The runs, oldest first, that neither rule keeps."""
    doomed = found[: max(0, len(found) - keep)] if keep is not None else list(found)
    if older_than is not None:
        before = (now or datetime.now(UTC)) - timedelta(days=older_than)
        doomed = [each for each in doomed if _when(each.created) < before]
    return doomed


def _when(created: str) -> datetime:
    when = datetime.fromisoformat(created)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _confirm(question: str, *, yes: bool) -> None:
    """Ask a person; without one, --yes is needed."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "nobody is there to confirm it", cause=f"stdin is no terminal: {question}", try_="--yes"
        )
    click.confirm(question, abort=True, err=True)


def assumptions(shared: Session, /, *, run: str, case: str, format: str) -> None:
    """What either end of each assumption would do to the time of CASE, an emulated case of a stored run."""
    stored, measurement = stored_case(shared, run, case)
    trace = shared.registry.traces.get(stored.backend)
    assumption_ends = resolve(check_drawn(trace, "assumptions", stored.backend, measurement.id))
    usual, ends = assumption_ends(measurement, shared.registry)
    rows: list[dict[str, object]] = [
        {
            "assumption": each.name,
            "taken": each.taken,
            "taken_text": show_value(each.taken, each.unit),
            "end": each.value,
            "end_text": show_value(each.value, each.unit),
            "unit": each.unit,
            "time_s": each.time_s,
            "change": each.ratio - 1,
            "reason": each.reason,
        }
        for each in ends
    ]
    mention(f"usual: {show_value(usual, 's')}")
    if not rows:
        mention(f"{measurement.id} names no assumption with a range")
    people = (
        "assumption",
        Column("taken_text", "taken", "right"),
        Column("end_text", "instead", "right"),
        Column("time_s", "time", "right", lambda value: show_value(value, "s")),
        Column("change", "change", "right", signed_percent),
    )
    every = ("assumption", "taken", "end", "unit", "time_s", "change", "reason")
    emit(rows, every if format == "csv" else people, format, title=measurement.id)


def run_row(each: RunSummary) -> dict[str, object]:
    """A row of the list of runs."""
    return {
        "run": each.id,
        "created": each.created,
        "finished": each.finished,
        "evidence": str(each.grade),
        "backend": each.backend,
        "policy": each.policy,
        "cases": each.cases,
        "cases_text": str(each.cases) if each.cases >= each.planned else f"{each.cases} of {each.planned}",
        "planned": each.planned,
        **{str(status): count for status, count in each.counts.items()},
        "outcome": status_words(each.counts),
        "state": each.state,
        "tags": list(each.tags),
        "instances": list(each.instances),
        "tool_version": each.tool_version,
    }


def run_head(found: Run) -> dict[str, object]:
    """What holds for all cases of a run."""
    return {
        "id": found.id,
        "created": found.created,
        "finished": found.finished,
        "evidence": str(found.grade),
        "backend": found.backend,
        "policy": str(found.policy),
        "tool_version": found.tool_version,
        "interrupted": found.interrupted,
        "missing": found.missing,
        "cut_short": found.cut_short,
        "notes": list(found.notes),
    }


def opening(found: Run, shown: int) -> str:
    """What a person is told before the `shown` cases of a run."""
    total = len(found.measurements)
    lines = [
        f"run {found.id}: {found.grade} by {found.backend}, {found.created}, trnbench {found.tool_version}",
        f"{shown} of {total} cases; percentages of the {found.policy} peaks",
    ]
    if found.cut_short:
        lines.append(f"this run was cut short: {found.cut_short}")
    return "\n".join(lines + [f"note: {note}" for note in found.notes])


def wanted(
    each: Measurement, statuses: tuple[str, ...], kernels: tuple[str, ...], instances: tuple[str, ...]
) -> bool:
    """Whether a case is of one of these statuses, kernels and systems (names or globs); all for none."""

    def fits(name: str, patterns: tuple[str, ...]) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    return (
        (not statuses or str(each.status) in statuses)
        and fits(each.case.kernel, kernels)
        and fits(each.case.instance, instances)
    )


def case_row(each: Measurement) -> dict[str, object]:
    """A row of the list of cases: exact values, and as people read them."""
    metric = each.metrics.get(each.primary)
    judged = each.judgement
    return {
        "id": each.id,
        "instance": each.case.instance,
        "case": each.case.fullname,
        "division": str(each.case.division or ""),
        "status": str(each.status),
        "metric": each.primary,
        "value": metric.value if metric else None,
        "unit": metric.unit if metric else "",
        "shown": show_value(metric.value, metric.unit) if metric else None,
        "fraction": judged.fraction if judged else None,
        "of_peak": percent(judged.fraction) if judged else None,
        "time": show_value(each.time_s, "s") if each.time_s is not None else None,
        "time_s": each.time_s,
        "interval_low_s": each.interval.low if each.interval else None,
        "interval_high_s": each.interval.high if each.interval else None,
        "within": percent((each.interval.high - each.interval.low) / 2 / each.time_s)
        if each.interval and each.time_s
        else None,
        "processes": len(each.processes),
        "stability": each.stability.verdict if each.stability else "",
        "evidence": str(each.evidence.grade),
        **_near(each),
        "by": each.evidence.by,
        "reason": each.reason_text or None,
    }


def _near(each: Measurement) -> dict[str, object]:
    """How near the nearest published evidence is, what to expect by it, and the best published."""
    nearest, interval, metric = each.evidence.nearest, expected(each), each.metrics.get(each.primary)
    best = nearest.best if nearest is not None else None
    return {
        "near": nearness_of(each) or None,
        "expect": " to ".join(show_value(end, metric.unit) for end in interval)
        if interval is not None and metric is not None
        else None,
        "expected_low": interval[0] if interval else None,
        "expected_high": interval[1] if interval else None,
        "best_published": best.value if best else None,
        "best_published_id": best.id if best else "",
        "nearness_note": nearest.note if nearest is not None else "",
    }


def stored_case(shared: Session, run: str, case: str) -> tuple[Run, Measurement]:
    """`case`: an id, or the case without its system where only one has it. Raises `UnknownName`."""
    with Store(shared.store_path) as store:
        stored = store.load(run)
    fitting = [
        each for each in stored.measurements if joint(case) in (each.case.joint, joint(each.case.fullname))
    ]
    if len(fitting) != 1:
        named = [each for each in stored.measurements if case in each.id]
        known = [each.id for each in fitting or named or stored.measurements]
        raise UnknownName("case", case, known, try_=f"trnbench runs show {stored.id}")
    return stored, fitting[0]
