"""Section 5: what the collectives make of the links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Record, Run
from trnbench_reports import numbers, view
from trnbench_reports.charts import busbw, figure, links
from trnbench_reports.charts import lines as lines_
from trnbench_reports.charts.busbw import Curve
from trnbench_reports.charts.lines import Line, Promise
from trnbench_reports.sections import fabric_links, fabric_model
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


COMPARED = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SCALED = ("all_reduce", "all_to_all")


class _Tried(Record, kw_only=True):
    """What a case stored: seconds by algorithm, of so many ranks, and which one is taken."""

    case: Measurement
    seconds: dict[str, float]
    taken: str
    ranks: int
    per_device: int


def algorithms(index: int, run: Run) -> list[tuple[str, list[Markup]]]:
    """For each system a chart of every main collective: bus bandwidth by every algorithm that was asked."""
    charts = []
    swept = fabric_model.sweeps(run)
    for place, record in enumerate(view.systems(run)):
        drawn = []
        for number, kernel in enumerate(COMPARED):
            cases = next((c for r, c in swept.get(kernel, ()) if r is record), [])
            tried = [trial for case in cases if (trial := _tried(case)) is not None]
            if tried:
                drawn.append(_chart(f"algorithms-{index}-{place}-{number}", index, kernel, tried))
        if drawn:
            charts.append((numbers.clean(record.instance, 60), drawn))
    return charts


def _tried(case: Measurement) -> _Tried | None:
    stored = case.detail.get("by_algorithm")
    if not isinstance(stored, Mapping):
        return None
    seconds = fabric_model.seconds(stored.get("seconds"))
    ranks, each = stored.get("ranks"), stored.get("per_device")
    if not seconds or not isinstance(ranks, int) or not isinstance(each, int) or ranks < 2 * each or each < 1:
        return None
    algorithm = numbers.clean(stored.get("taken", ""), 40)
    return _Tried(case=case, seconds=seconds, taken=algorithm, ranks=ranks, per_device=each)


def _chart(id: str, index: int, kernel: str, tried: Sequence[_Tried]) -> Markup:
    series: dict[str, list[tuple[float, float, str, str]]] = {}
    for attempt in tried:
        # Bytes that the case counts as moved: the same whoever moves them.
        size = fabric_model.size(attempt.case)
        moved = size * _factor(attempt)
        for name, seconds in attempt.seconds.items():
            anchor = view.figure_of(index, attempt.case) if name == attempt.taken else ""
            tip = (
                f"{name}: {numbers.show(moved / seconds, 'B/s')}, {numbers.show(size, 'B')} in "
                f"{numbers.show(seconds, 's')} · {fabric_model.evidence(attempt.case)}"
            )
            series.setdefault(numbers.clean(name, 40), []).append((size, moved / seconds, anchor, tip))
    last = tried[-1]
    taken = {trial.taken for trial in tried}
    best = max(series, key=lambda name: series[name][-1][1])
    top = series[best][-1][1]
    promised = _promise(trial.case for trial in reversed(tried))
    share = f", {numbers.percent(top / promised[0].value)} of the documented figure" if promised else ""
    mark = numbers.capital(fabric_model.evidence(last.case))
    collective = kernel.replace("_", "-")
    return figure.show(
        lines_.draw(
            id,
            f"{mark}. {collective}: {best} is quickest at {numbers.show(fabric_model.size(last.case), 'B')}, "
            f"{numbers.show(top, 'B/s')}{share}",
            [
                Line(
                    name=name + (" (taken)" if name in taken else ""),
                    colour=figure.OTHERS[position % len(figure.OTHERS)],
                    points=tuple(points),
                    bold=name in taken,
                )
                for position, (name, points) in enumerate(series.items())
            ],
            "message size",
            "B",
            caption=_caption(last, sorted(taken)),
            promised=promised,
            what="algorithm",
            height=170,
        )
    )


def _caption(last: _Tried, taken: Sequence[str]) -> str:
    """Who takes part: large systems are asked with one rank on each device, their cases with more."""
    ranks = f"{last.ranks:,} ranks, {'one' if last.per_device == 1 else last.per_device} on each device"
    own = next((note for note in last.case.notes if " ranks, " in note), "").partition(";")[0]
    if own and not own.startswith(f"{last.ranks:,} ranks"):
        ranks += f" (the cases above: {numbers.clean(own, 60)})"
    return f"{ranks}; thick: what the runtime was observed to take, else the quickest ({', '.join(taken)})"


def _factor(each: _Tried) -> float:
    """busbw / algbw (nccl-tests' performance notes) of the ranks that were asked."""
    share = (each.ranks - 1) / each.ranks
    return 2 * share if each.case.case.kernel == "all_reduce" else share


def _promise(cases: Iterable[Measurement]) -> list[Promise]:
    judged = next((case.judgement for case in cases if case.judgement), None)
    if judged is None or judged.metric != "busbw_bytes_per_s":
        return []
    peak = judged.peaks.chosen
    return [Promise(value=peak.value, words=f"{numbers.show(peak.value, 'B/s')} {peak.evidence}")]


def scaling(index: int, run: Run) -> list[Markup]:
    """All systems in one chart for each collective: bus bandwidth of the largest message, rank by rank."""
    swept = fabric_model.sweeps(run)
    return [
        chart
        for kernel in SCALED
        if (chart := _scaling(index, run, kernel, swept.get(kernel, ()))) is not None
    ]


def _scaling(index: int, run: Run, kernel: str, swept: Sequence[fabric_model.Sweep]) -> Markup | None:
    curves = []
    largest, least, most = 0.0, float("inf"), 0.0
    for record, cases in swept:
        last = cases[-1]
        pairs = _pairs(last.detail.get("scaling"))
        if len(pairs) < 2:
            continue
        largest = max(largest, fabric_model.size(last))
        least, most = min(least, pairs[0][0]), max(most, pairs[-1][0])
        name, note = numbers.clean(record.instance, 60), fabric_model.evidence(last)
        per_device = pairs[-1][0] / max(record.devices, 1)
        ranks = f"{per_device:g} ranks a device" if per_device > 1 else "one rank a device"
        points = tuple(
            (
                count,
                rate,
                view.figure_of(index, last) if position == len(pairs) - 1 else "",
                f"{count:,.0f} ranks: {numbers.show(rate, 'B/s')} · {name}, {ranks} · {note}",
            )
            for position, (count, rate) in enumerate(pairs)
        )
        mark = ", without a band" if view.faint(last) else ""
        colour = view.colour(run, record.generation)
        curves.append(Line(name=f"{name} ({ranks}{mark})", colour=colour, points=points))
    if not curves:
        return None
    collective = kernel.replace("_", "-")
    return figure.show(
        lines_.draw(
            f"scaling-{index}-{kernel}",
            f"Emulated. {collective} of {numbers.show(largest, 'B')} from {least:,.0f} to {most:,.0f} ranks",
            curves,
            "ranks",
            "",
            caption="the first two devices of a system, more of them, all; a cluster grows by instances",
            what="system",
        )
    )


def _pairs(value: object) -> list[tuple[float, float]]:
    return [
        (float(count), float(rate))
        for count, rate in view.rows_of(value, 2)
        if (view.number(count) or 0.0) > 0 and (view.number(rate) or 0.0) > 0
    ]


_MESSAGE = ("size", "bytes", "message", "message_bytes", "nbytes")


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case has a bus bandwidth."""
    parts = []
    faint: dict[str, None] = {}
    for index, run, heading in view.each_newest(runs):
        drawn = []
        for number, (kernel, found) in enumerate(view.by_kernel(run.measurements).items()):
            curves = _curves(index, run, found)
            if curves:
                drawn.append(figure.show(busbw.draw_bandwidth(f"bus-{index}-{number}", kernel, curves)))
        if drawn:
            parts.append(
                {
                    "heading": heading,
                    "figures": drawn,
                    "algorithms": algorithms(index, run),
                    "scaling": scaling(index, run),
                    "losses": fabric_model.losses(index, run),
                    "pictures": fabric_model.pictures(index, run),
                    "links": fabric_links.tables(index, run, runs),
                }
            )
            for measurement in run.measurements:
                if view.faint(measurement) and "busbw_bytes_per_s" in measurement.metrics:
                    faint[numbers.clean(measurement.case.instance, 60)] = None
    if not parts:
        return ""
    bands = [label for _, label in links.BANDS]
    return fill("fabric", parts=parts, faint=list(faint), bands=bands)


def _curves(index: int, run: Run, found: Sequence[Measurement]) -> list[Curve]:
    """The largest reach of each system only: one line, one peak."""
    curves = []
    for record in view.systems(run):
        mine = [
            each
            for each in found
            if each.case.instance == record.instance
            and each.status in view.GOOD
            and "busbw_bytes_per_s" in each.metrics
            and _size(each) > 0
        ]
        if not mine:
            continue
        widest = max((each.case.scope for each in mine), key=lambda scope: scope.rank)
        by_size: dict[float, Measurement] = {}
        for case in mine:
            size = _size(case)
            held = by_size.get(size)
            rate = case.metrics["busbw_bytes_per_s"].value
            if (
                case.case.scope is widest
                and rate > 0
                and (held is None or rate > held.metrics["busbw_bytes_per_s"].value)
            ):
                by_size[size] = case
        if by_size:
            curves.append(
                Curve(
                    system=numbers.clean(record.instance, 60),
                    colour=view.colour(run, record.generation),
                    points=tuple(
                        (size, each.metrics["busbw_bytes_per_s"].value, each, view.figure_of(index, each))
                        for size, each in sorted(by_size.items())
                    ),
                )
            )
    return curves


def _size(each: Measurement) -> float:
    """Of the message: the axis that says so, else what the algorithm bandwidth implies."""
    for name in _MESSAGE:
        value = view.number(each.case.point.get(name))
        if value is not None:
            return value
    algbw = each.metrics.get("algbw_bytes_per_s")
    return round(algbw.value * each.time_s, 3) if algbw and each.time_s else 0.0
