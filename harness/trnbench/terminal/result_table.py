"""The table that ends a question: a row for each case and system, and which of them is fastest."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trnbench.facts.fact import Scope
from trnbench.facts.units import column_unit, percent, show
from trnbench.results.expectation import expected_seconds, nearness_of
from trnbench.results.measurement import Measurement
from trnbench.results.ranking import HOW, SYSTEM, Result, varying, verdict
from trnbench.results.run import Run
from trnbench.run.headline import DTYPES, axis_text, ranks_of
from trnbench.terminal.cell import SPARE, Column
from trnbench.terminal.output import emit, emit_json, mention, paragraph, write
from trnbench.terminal.table import escaped

MOST = 24
"""Rows that are shown case by case; of more there are counts."""

PUBLISHED = "published"

WHOLE = "system"
"""Scope of a case that takes a whole system, whatever that is."""


def row_of(result: Result) -> dict[str, object]:
    """A result as data; seconds, and rates in the base unit."""
    low, high = result.band or (None, None)
    best = result.best
    return {
        **result.names,
        "status": result.status,
        "time_s": result.time_s,
        "expected_low_s": low,
        "expected_high_s": high,
        "rate": result.rate,
        "unit": result.unit,
        "metric": result.metric,
        "share": result.share,
        "best_published": best.value if best else None,
        "best_published_at": best.at if best else "",
        "best_published_id": best.id if best else "",
        "evidence": result.letter,
        "nearness": result.nearness,
        "reason": result.reason,
    }


def show_results(results: Sequence[Result], format: str, choices: Collection[str] = ()) -> None:
    """The table and its sentence on stdout; `choices` are names that are no part of a question.

    Eight rows take twelve lines of 80 columns at most, so no line is drawn below the headings.
    """
    if format in ("json", "csv"):
        rows = [row_of(result) for result in results]
        # What only some rows have stands before the status too: places do not hang on which case is first.
        names = dict.fromkeys(name for result in results for name in result.names)
        names |= dict.fromkeys(name for row in rows for name in row)
        emit_json(rows) if format == "json" else emit(rows, tuple(names), format)
        return
    columns = _columns(results)
    left_out = emit(
        [{column.key: result for column in columns} for result in results], columns, format, ruled=False
    )
    sentence = _sentence(results, choices)
    write(f"\n{escaped(sentence)}\n") if format == "md" else paragraph(sentence, 2)
    elsewhere = any(result.best is not None and result.best.at for result in results)
    if elsewhere and PUBLISHED not in left_out:
        mention("(in parentheses: published at another size or number of ranks)")
    if sending := [result for result in results if result.metric == "network_bytes_per_s"]:
        names = dict.fromkeys(str(result.names[SYSTEM]) for result in sending)
        of = "" if len(sending) == len(results) else f" of {', '.join(names)}"
        mention(f"(rate{of}: what one host sends to others in a second; busbw: trnbench fabric run)")
    if any(result.time_s is not None for result in results):
        reasons = dict.fromkeys(
            result.reason for result in results if result.time_s is None and result.reason
        )
        if reasons:
            mention(f"no time: {'; '.join(reasons)}")


def _sentence(results: Sequence[Result], choices: Collection[str]) -> str:
    """What all rows have in common, then which of them is fastest."""
    first, differing = results[0], varying(results)
    common = [name for name in first.names if name not in differing and first.label(name)]
    asked = [_asked(first, name) for name in common if name not in (SYSTEM, *HOW)]
    if "rank" in common:
        count = f"{first.label('ranks')} " if "ranks" in common else ""
        asked.append(f"{count}{first.label('rank')} ranks")
    if "algorithm" in common:
        asked.append(f"by {first.label('algorithm')}")
    if SYSTEM in common and len(results) > 1:
        asked.append(f"on {first.label(SYSTEM)}")
    found = verdict(results, choices)
    return ", ".join(filter(None, asked)) + (f": {found}" if found else ".")


def _asked(result: Result, name: str) -> str:
    """`gemm`, `bf16`, `size 4,096`, `one device`, `sharded`; nothing of a whole system."""
    label = result.label(name)
    if name == "scope":
        return "" if label == WHOLE else f"one {label}"
    return label if name in ("kernel", "dtype", "division") else f"{name} {label}"


def _columns(results: Sequence[Result]) -> list[Column]:
    """Names that differ, then the numbers, in one unit where all have one; the first to leave is the last."""
    names = [name for name in varying(results) if name != "rank"] or [SYSTEM]
    columns = [_name(name, results) for name in names]
    if any(result.status != "ok" and result.time_s is not None for result in results):
        columns.append(Column("status", show=lambda result: result.status, keep=SPARE))
    times = [result.time_s for result in results if result.time_s is not None]
    if not times:
        return [*columns, Column("time", "outcome", show=lambda result: result.status, keep=SPARE)]
    time_unit, second = column_unit(times, "s")
    columns += [
        Column("time", time_unit, "right", lambda result: _time(result, second), SPARE),
        Column("band", "expect", "right", lambda result: _range(result.band, second), SPARE),
    ]
    units = {result.unit for result in results if result.rate is not None}
    if len(units) == 1:
        (base,) = units
        rates = [result.rate for result in results if result.rate is not None]
        rate_unit, scale = column_unit(rates, base)
    else:
        rate_unit, scale = "rate", 0.0
    columns += [
        Column("rate", rate_unit, "right", lambda result: _rate(result.rate, result.unit, scale), SPARE),
        Column(
            "share",
            "share",
            "right",
            lambda result: "–" if result.share is None else percent(result.share),
            SPARE,
        ),
    ]
    if any(result.best is not None for result in results):
        columns.append(Column("best", PUBLISHED, "right", lambda result: _published(result, scale), -2))
    return [*columns, Column("evidence", "ev", show=lambda result: result.letter or "–", keep=SPARE)]


def _name(name: str, results: Sequence[Result]) -> Column:
    number = all(isinstance(result.names[name], int | float) for result in results if name in result.names)
    return Column(name, align="right" if number else "left", show=lambda result: result.label(name) or "–")


def _time(result: Result, scale: float) -> str:
    """What became of it where it has none."""
    return result.status if result.time_s is None else show(result.time_s / scale, "1")


def _range(band: tuple[float, float] | None, scale: float) -> str:
    """From the least to the most; of a band without a least the most."""
    if band is None:
        return "–"
    least, most = (show(end / scale, "1") for end in band)
    return f"{least}–{most}" if band[0] > 0 else f"≤ {most}"


def _rate(value: float | None, unit: str, scale: float) -> str:
    """In the unit of the column, else (`scale` 0) with its own."""
    if value is None:
        return "–"
    return show(value / scale, "1") if scale else show(value, unit)


def _published(result: Result, scale: float) -> str:
    if result.best is None:
        return "–"
    text = _rate(result.best.value, result.best.unit, scale)
    return f"({text})" if result.best.at else text


def results_of(run: Run, rate: str = "") -> list[Result]:
    """Every case of the run, in its order; `rate` is the metric to show, where not the judged one."""
    return [_result_of(run, case, rate or case.primary) for case in run.measurements]


def _result_of(run: Run, case: Measurement, rate: str) -> Result:
    """The stored outcome of one case: its time with the band, a rate, the best published of that."""
    key, metric, judged = case.case, case.metrics.get(rate), case.judgement
    record, nearest = run.systems.get(key.instance), case.evidence.nearest
    best = nearest.best if nearest is not None else None
    whole = record is not None and key.scope is record.scope and key.scope.rank > Scope.DEVICE.rank
    ranks = ranks_of(run, case)
    interval = case.interval
    band = (interval.low, interval.high) if interval else None
    return Result(
        names={
            SYSTEM: key.instance,
            "kernel": key.kernel,
            **key.point,
            "scope": WHOLE if whole else str(key.scope),
            **({"division": str(key.division)} if key.division else {}),
            **(dict(zip(("ranks", "rank"), ranks, strict=True)) if ranks else {}),
        },
        labels={name: axis_text(case, name) for name in key.point},
        time_s=case.time_s,
        band=band or expected_seconds(case),
        rate=metric.value if metric else None,
        unit=metric.unit if metric else "",
        metric=metric.name if metric else "",
        share=judged.fraction if judged else None,
        best=best if best is not None and metric is not None and best.metric == metric.name else None,
        letter=case.evidence.grade.letter if case.time_s is not None else "",
        nearness=nearness_of(case),
        status=str(case.status),
        reason=case.reason_text,
    )


def short_answer(results: Sequence[Result], most: int) -> list[Result]:
    """Of many cases of one kernel those that a headline would be about: its type, on one device.

    Empty where they are more than `most`, or of several kernels.
    """
    if len({result.names["kernel"] for result in results}) != 1:
        return []
    timed = [result for result in results if result.time_s is not None]
    for name, choices in (("dtype", DTYPES), ("scope", (str(Scope.DEVICE),))):
        values = {result.names.get(name) for result in timed}
        choice = next((value for value in choices if value in values), None)
        if choice is not None:
            results = [result for result in results if result.names.get(name) == choice]
    return list(results) if len(results) <= most else []
