"""What the model stored beside the numbers of a collective: algorithms, scaling, losses, links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Measurement, Run, SystemRecord
from trnbench_reports import numbers, view, words
from trnbench_reports.charts import figure, links, spent
from trnbench_reports.charts import lines as lines_
from trnbench_reports.charts.lines import Axis, Line, Promise
from trnbench_reports.charts.spent import Spent

if TYPE_CHECKING:
    from markupsafe import Markup

ALL_REDUCE, ALL_TO_ALL = "all_reduce", "all_to_all"
SHOWN = (ALL_REDUCE, ALL_TO_ALL)


def evidence(each: Measurement) -> str:
    mark = ", unvalidated" if each.evidence.unvalidated else ""
    return f"{each.evidence.grade}{mark}"


def sweeps(run: Run, kernel: str) -> list[tuple[SystemRecord, list[Measurement]]]:
    """For each system the good cases of a kernel with a size and a bandwidth, by size."""
    found = []
    for record in view.systems(run):
        mine = [
            each
            for each in run.measurements
            if each.case.kernel == kernel
            and each.case.instance == record.instance
            and each.status in view.GOOD
            and each.time_s
            and size(each) > 0
            and "busbw_bytes_per_s" in each.metrics
        ]
        if mine:
            found.append((record, sorted(mine, key=size)))
    return found


def size(each: Measurement) -> float:
    value = each.case.point.get("size")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def algorithms(index: int, run: Run) -> list[Markup]:
    """One chart per system: bus bandwidth of an all-reduce by every algorithm that was tried."""
    drawn = []
    for number, (record, cases) in enumerate(sweeps(run, ALL_REDUCE)):
        series: dict[str, list[tuple[float, float, str, str]]] = {}
        taken: dict[str, None] = {}
        for each in cases:
            times = _seconds(each.detail.get("by_algorithm_s"))
            ran = each.implementation.removeprefix("collective: ").partition(",")[0]
            factor = each.metrics["busbw_bytes_per_s"].value * (each.time_s or 0.0)
            if ran in times:
                taken[ran] = None
            for name, seconds in times.items():
                tip = f"{numbers.show(factor / seconds, 'B/s')} · {words.clean(name, 40)} · {evidence(each)}"
                anchor = view.anchor(index, each) if name == ran else ""
                series.setdefault(name, []).append((size(each), factor / seconds, anchor, tip))
        if len(series) < 2:
            continue
        best = max(series, key=lambda name: series[name][-1][1])
        top = numbers.show(series[best][-1][1], "B/s")
        system = words.clean(record.instance, 60)
        mark = words.capital(evidence(cases[-1]))
        judged = next((each.judgement for each in reversed(cases) if each.judgement), None)
        promised = []
        if judged is not None and judged.metric == "busbw_bytes_per_s":
            peak = judged.peaks.chosen.value
            said = f"{numbers.show(peak, 'B/s')} {judged.peaks.chosen.evidence}"
            promised = [Promise(value=peak, words=said)]
        chosen = words.listed([words.clean(name, 40) for name in taken])
        drawn.append(
            figure.show(
                lines_.draw(
                    f"algorithms-{index}-{number}",
                    f"{mark}. {system}: {words.clean(best, 40)} is quickest at the largest size, {top}",
                    [
                        Line(
                            name=words.clean(name, 40) + (" (taken)" if name in taken else ""),
                            colour=position % 6,
                            points=tuple(points),
                            bold=name in taken,
                        )
                        for position, (name, points) in enumerate(series.items())
                    ],
                    Axis(title="message size", unit="B"),
                    caption=f"all-reduce; thick: what the documents' thresholds take ({chosen})",
                    promised=promised,
                )
            )
        )
    return drawn


def scaling(index: int, run: Run) -> Markup | None:
    """All systems in one chart: bus bandwidth of the largest all-reduce on more and more ranks."""
    curves = []
    largest, most = 0.0, 0.0
    for record, cases in sweeps(run, ALL_REDUCE):
        last = cases[-1]
        pairs = _pairs(last.detail.get("scaling"))
        if len(pairs) < 2:
            continue
        largest, most = max(largest, size(last)), max(most, pairs[-1][0])
        name = words.clean(record.instance, 60)
        note = evidence(last)
        curves.append(
            Line(
                name=name + (" (unvalidated)" if last.evidence.unvalidated else ""),
                colour=view.colour(run, record.generation),
                points=tuple(
                    (
                        ranks,
                        rate,
                        view.anchor(index, last) if position == len(pairs) - 1 else "",
                        f"{ranks:,.0f} ranks: {numbers.show(rate, 'B/s')} · {name} · {note}",
                    )
                    for position, (ranks, rate) in enumerate(pairs)
                ),
            )
        )
    if not curves:
        return None
    title = f"Emulated. All-reduce of {numbers.show(largest, 'B')} from 2 to {most:,.0f} ranks"
    return figure.show(
        lines_.draw(
            f"scaling-{index}", title, curves, Axis(title="ranks"), caption="a cluster grows by instances"
        )
    )


def losses(index: int, run: Run) -> Markup | None:
    """Bars of the largest message of every collective on every system."""
    bars = []
    for kernel in view.by_kernel(run.measurements):
        for record, cases in sweeps(run, kernel):
            last = cases[-1]
            parts = _seconds(last.detail.get("waterfall_s"), zero=True)
            total = sum(parts.get(name, 0.0) for name in spent.PARTS)
            if total <= 0:
                continue
            bars.append(
                Spent(
                    name=f"{words.clean(kernel, 20)} {words.clean(record.instance, 40)}",
                    anchor=view.anchor(index, last),
                    seconds={name: parts.get(name, 0.0) for name in spent.PARTS},
                    total=total,
                    evidence=evidence(last),
                )
            )
    if not bars:
        return None
    worst = min(bars, key=lambda bar: bar.seconds["ideal"] / bar.total)
    share = numbers.percent(worst.seconds["ideal"] / worst.total)
    return figure.show(
        spent.draw(
            f"losses-{index}",
            f"Emulated. Where the time goes; furthest from its bound: {worst.name}, {share}",
            bars,
            "largest message of each; the bound is what must leave a device over all its links",
        )
    )


def pictures(index: int, run: Run) -> list[dict[str, Any]]:
    """The topology of each system with the load of its links, and a table by class of link."""
    found = []
    for record in view.systems(run):
        topology = run.topologies.get(record.instance)
        if topology is None:
            continue
        tables, drawn, title = [], None, ""
        for kernel in SHOWN:
            for other, cases in sweeps(run, kernel):
                last = cases[-1]
                loads = links.expanded(topology, last.detail.get("link_load"))
                if other is not record or loads is None or not any(loads):
                    continue
                about = f"{kernel} of {numbers.show(size(last), 'B')}"
                rows = [links.row(each) for each in links.summary(topology, loads)]
                tables.append((view.anchor(index, last), about, evidence(last), rows))
                hottest = rows[0]
                where = f"{words.capital(evidence(last))}. {words.clean(record.instance, 60)}"
                title = f"{where}, {about}: {hottest[0]} links at {hottest[2]}"
                drawn = links.picture(topology, loads, title)
        if drawn is not None:
            found.append({"title": title, "svg": drawn, "tables": tables})
    return found


def _seconds(value: object, *, zero: bool = False) -> dict[str, float]:
    """A stored mapping of names to seconds; what is none of that is left out."""
    if not isinstance(value, Mapping):
        return {}
    return {
        str(name): float(each)
        for name, each in value.items()
        if isinstance(each, int | float) and (each > 0 or (zero and each == 0)) and each - each == 0
    }


def _pairs(value: object) -> list[tuple[float, float]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [
        (float(each[0]), float(each[1]))
        for each in value
        if isinstance(each, Sequence)
        and len(each) == 2
        and all(isinstance(part, int | float) and part > 0 and part - part == 0 for part in each)
    ]
