"""What collectives make of the links: one kind of ranks at a time, on one screen each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Measurement, Metric, Nearness, Run, grouped
from trnbench_reports import board, numbers, view
from trnbench_reports.charts import busbw, figure
from trnbench_reports.charts.busbw import Point, Sweep
from trnbench_reports.charts.figure import Figure
from trnbench_reports.sections import fabric_model
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

LEAD = ("all_reduce", "all_to_all")
"""The collective that a kind of ranks is drawn by; else the one with most cases."""
KINDS = 4
"""Kinds of ranks with a panel of their own; the style sheet has rules for as many."""
RATES = ("busbw_bytes_per_s", "network_bytes_per_s")


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case has ranks."""
    parts = []
    for index, run, heading in view.each_newest(runs):
        panels = [
            panel
            for number, (kind, found) in enumerate(kinds(run).items())
            if number < KINDS and (panel := _panel(index, run, number, kind, found)) is not None
        ]
        if panels:
            parts.append({"heading": heading, "panels": panels, "id": index})
    return fill("links", parts=parts, taken=_taken, lost=_lost) if parts else ""


def kinds(run: Run) -> dict[tuple[str, str], list[Measurement]]:
    """(kind of ranks, metric) → good cases: what counts other ranks or other bytes is not drawn together.

    The kind that all-reduces run on comes first.
    """
    good = (
        case
        for case in run.measurements
        if view.rank_kind(case)
        and case.status in view.GOOD
        and case.primary in RATES
        and _rate(case) is not None
    )
    by_kind = grouped(good, lambda case: (view.rank_kind(case), case.primary))

    def place(item: tuple[tuple[str, str], list[Measurement]]) -> tuple[int, bool, int]:
        (_, metric), cases = item
        return RATES.index(metric), all(case.case.kernel != LEAD[0] for case in cases), -len(cases)

    return dict(sorted(by_kind.items(), key=place))


def figures(index: int, run: Run) -> list[Figure]:
    """The chart of each kind of ranks, each alone."""
    found = (
        _figure(index, run, number, kind, view.by_kernel(cases), alone=True)
        for number, (kind, cases) in enumerate(kinds(run).items())
    )
    return [each for each in found if each is not None][:KINDS]


def _lead(by_kernel: Mapping[str, Sequence[Measurement]]) -> str:
    most = max(by_kernel, key=lambda kernel: len(by_kernel[kernel]))
    return next((name for name in LEAD if name in by_kernel), most)


def _figure(
    index: int,
    run: Run,
    place: int,
    kind: tuple[str, str],
    by_kernel: Mapping[str, Sequence[Measurement]],
    *,
    alone: bool = False,
) -> Figure | None:
    lead = _lead(by_kernel)
    sweeps = _sweeps(run, by_kernel[lead])
    if not sweeps:
        return None
    quantity = "bus bandwidth" if kind[1] == RATES[0] else board.COUNTED[kind[1]]
    title = _title(lead, kind[0], sweeps)
    return busbw.draw(f"links-{index}-{place}", index, title, sweeps, quantity, alone=alone)


def _panel(
    index: int, run: Run, place: int, kind: tuple[str, str], found: Sequence[Measurement]
) -> dict[str, Any] | None:
    by_kernel = view.by_kernel(found)
    lead = _lead(by_kernel)
    picture = _picture(run, by_kernel[lead])
    alone = picture is None or picture["svg"] is None
    drawn = _figure(index, run, place, kind, by_kernel, alone=alone)
    if drawn is None:
        return None
    return {
        "name": kind[0] if kind[1] == RATES[0] else f"{kind[0]}, {board.COUNTED[kind[1]]}",
        "figure": figure.show(drawn),
        "lead": lead,
        "rows": [(kernel, each) for kernel in by_kernel for each in _sweeps(run, by_kernel[kernel])],
        "picture": picture,
    }


def _rate(each: Measurement) -> Metric | None:
    metric = each.metrics.get(each.primary)
    size = fabric_model.size(each)
    return metric if metric is not None and metric.value > 0 and size > 0 and each.time_s else None


def _sweeps(run: Run, found: Sequence[Measurement]) -> list[Sweep]:
    """A system each, the generations in their order."""
    sweeps = []
    for record in view.systems(run):
        mine = sorted((m for m in found if m.case.instance == record.instance), key=fabric_model.size)
        if not mine:
            continue
        judged = next((m.judgement for m in reversed(mine) if m.judgement is not None), None)
        promised = judged.peaks.chosen.value if judged is not None else 0.0
        sweeps.append(
            Sweep(
                system=numbers.clean(record.instance, 60),
                colour=view.colour(run, record.generation),
                points=tuple(point(case) for case in mine),
                promised=promised if judged is not None and judged.metric == mine[0].primary else 0.0,
                faint=any(view.faint(case) for case in mine),
            )
        )
    return sweeps


def point(case: Measurement) -> Point:
    """`case` has a rate, a size and a time."""
    metric = _rate(case)
    assert metric is not None
    assert case.time_s
    tried = fabric_model.seconds(case.detail.get("tried_s"))
    name = min(tried, key=lambda each: tried[each]) if tried else ""
    nearest = case.evidence.nearest
    best = nearest.best if nearest is not None else None
    same_program = best is not None and best.kind is Nearness.SAME and best.metric == metric.name
    bound = view.number(case.detail.get("bound_s")) or 0.0
    return Point(
        case=case,
        size=fabric_model.size(case),
        rate=metric.value,
        # The same bytes in another time.
        best=metric.value * case.time_s / tried[name] if name else 0.0,
        best_name=numbers.clean(name, 40),
        bound=metric.value * case.time_s / bound if bound > 0 else 0.0,
        published=best.value if best is not None and same_program else 0.0,
    )


def _title(kernel: str, ranks: str, sweeps: Sequence[Sweep]) -> str:
    """The finding: how far the best of the systems comes, against the document and against the links."""
    tops = [(sweep, max(sweep.points, key=lambda point: point.rate)) for sweep in sweeps]
    sweep, top = max(tops, key=lambda each: each[1].rate / each[0].promised if each[0].promised else 0.0)
    judged = top.case.judgement
    share = f", {numbers.percent(judged.fraction)} of the document" if judged is not None else ""
    bound = f", {numbers.percent(top.rate / top.bound)} of what the links allow" if top.bound else ""
    named = kernel.replace("_", "-")
    return (
        f"{numbers.capital(numbers.clean(named, 40))} between {ranks}: at best "
        f"{numbers.show(top.rate, 'B/s')} on {sweep.system}{share}{bound}"
    )


def _taken(case: Measurement) -> str:
    """The algorithm."""
    return numbers.clean(case.implementation.removeprefix("collective: ").partition(",")[0], 40)


def _lost(case: Measurement) -> str:
    """The largest term beside the ideal one, as a share of the time; "" where none is stored."""
    parts = fabric_model.seconds(case.detail.get("waterfall_s"))
    lost = {name: seconds for name, seconds in parts.items() if name != "ideal"}
    if not lost or not case.time_s:
        return ""
    name = max(lost, key=lambda each: lost[each])
    return f"{numbers.clean(name, 40)} {numbers.percent(lost[name] / case.time_s)}"


def _picture(run: Run, found: Sequence[Measurement]) -> dict[str, Any] | None:
    """The smallest system that can be drawn: what a larger one does, it does as well."""
    kernels = {each.case.kernel for each in found}
    systems = {each.case.instance for each in found}
    drawn = [
        (len(topology.links), picture)
        for name in systems
        if (topology := run.topologies.get(name)) is not None
        and (picture := fabric_model.picture(run, name, kernels)) is not None
    ]
    return min(drawn, key=lambda each: each[0])[1] if drawn else None
