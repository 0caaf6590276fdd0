"""What the model stored beside the numbers of a collective: where its time went, the load of the links."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from trnbench import Measurement, Run, SystemRecord
from trnbench_reports import numbers, view
from trnbench_reports.charts import figure, links, stack
from trnbench_reports.charts.stack import Spent

if TYPE_CHECKING:
    from markupsafe import Markup

ALL_REDUCE, ALL_TO_ALL = "all_reduce", "all_to_all"
SHOWN = (ALL_REDUCE, ALL_TO_ALL)


def evidence(each: Measurement) -> str:
    mark = ", without a band" if view.faint(each) else ""
    return f"{each.evidence.grade}{mark}"


Sweep = tuple[SystemRecord, list[Measurement]]


def sweeps(run: Run) -> dict[str, list[Sweep]]:
    """By kernel, for each system its good cases with a size and a bandwidth, by size."""
    good: dict[str, dict[str, list[Measurement]]] = {}
    for case in run.measurements:
        if (
            "busbw_bytes_per_s" in case.metrics
            and case.status in view.GOOD
            and case.time_s
            and size(case) > 0
        ):
            good.setdefault(case.case.kernel, {}).setdefault(case.case.instance, []).append(case)
    return {
        kernel: [
            (record, sorted(found[record.instance], key=size))
            for record in view.systems(run)
            if record.instance in found
        ]
        for kernel, found in good.items()
    }


def size(each: Measurement) -> float:
    return view.number(each.case.point.get("size")) or 0.0


def losses(index: int, run: Run) -> Markup | None:
    """Bars of the largest message of every collective on every system."""
    bars = []
    for kernel, swept in sweeps(run).items():
        for record, cases in swept:
            last = cases[-1]
            parts = seconds(last.detail.get("waterfall_s"))
            total = sum(parts.get(name, 0.0) for name in stack.PARTS)
            if total <= 0:
                continue
            bars.append(
                Spent(
                    name=f"{numbers.clean(kernel, 20)} {numbers.clean(record.instance, 40)}",
                    anchor=view.figure_of(index, last),
                    seconds={name: parts.get(name, 0.0) for name in stack.PARTS},
                    total=total,
                    evidence=evidence(last),
                )
            )
    if not bars:
        return None
    worst = min(bars, key=lambda bar: bar.seconds["ideal"] / bar.total)
    share = numbers.percent(worst.seconds["ideal"] / worst.total)
    return figure.show(
        stack.draw(
            f"fabric-losses-{index}",
            f"Emulated. Where the time goes; furthest from its bound: {worst.name}, {share}",
            bars,
            "largest message of each; the bound is what must leave a device over all its links",
        )
    )


def pictures(index: int, run: Run) -> list[dict[str, Any]]:
    """The topology of each system with the load of its links, a table by class of link, the hottest links.

    A system too large to draw has the links alone.
    """
    listed = []
    swept = sweeps(run)
    for record in view.systems(run):
        topology = run.topologies.get(record.instance)
        tables, hottest, drawn, title = [], [], None, ""
        instance = numbers.clean(record.instance, 60)
        for kernel in SHOWN:
            for other, cases in swept.get(kernel, ()):
                last = cases[-1]
                if other is not record:
                    continue
                about = f"{kernel} of {numbers.show(size(last), 'B')}"
                shown = [(view.figure_of(index, last), about, evidence(last), row) for row in _hottest(last)]
                hottest += shown
                mark = numbers.capital(evidence(last))
                loads = links.expanded(topology, last.detail.get("link_load")) if topology else None
                if topology is not None and loads is not None and any(loads):
                    rows = [links.row(link) for link in links.summary(topology, loads)]
                    tables.append((view.figure_of(index, last), about, evidence(last), rows))
                    title = f"{mark}. {instance}, {about}: {rows[0][0]} links at {rows[0][2]}"
                    drawn = links.picture(topology, loads, title)
                elif shown and not title:
                    title = f"{mark}. {instance}: {record.devices:,} devices are too many to draw"
        if title:
            listed.append({"title": title, "svg": drawn, "tables": tables, "hottest": hottest})
    return listed


def picture(run: Run, system: str, kernels: Collection[str]) -> dict[str, Any] | None:
    """One topology with the load of its links under the largest message of one of `kernels`."""
    topology = run.topologies.get(system)
    if topology is None:
        return None
    swept = sweeps(run)
    for kernel in kernels:
        for record, cases in swept.get(kernel, ()):
            last = cases[-1]
            loads = links.expanded(topology, last.detail.get("link_load"))
            if record.instance != system or loads is None or not any(loads):
                continue
            instance = numbers.clean(system, 60)
            busiest = links.row(links.summary(topology, loads)[0])
            title = (
                f"{instance}, {numbers.clean(kernel, 40)} of {numbers.show(size(last), 'B')}: "
                f"{busiest[0]} links at {busiest[2]}"
            )
            loaded = topology.links[max(range(len(loads)), key=loads.__getitem__)].cls
            bands = {
                links.band(load)
                for link, load in zip(topology.links, loads, strict=True)
                if link.cls == loaded
            }
            return {
                "title": title,
                # A drawing in one colour shows nothing that its title does not say.
                "svg": None if len(bands) == 1 else links.picture(topology, loads, title),
                "bands": [label for _, label in links.BANDS],
            }
    return None


def _hottest(case: Measurement) -> list[tuple[str, str, str]]:
    """Link, bytes carried, share of what it could have carried in the time; the busiest first."""
    return [
        (numbers.clean(link, 60), numbers.show(carried, "B"), numbers.percent(share))
        for link, carried, share in view.rows_of(case.detail.get("hottest_links"), 3)
        if view.number(carried) is not None and view.number(share) is not None
    ]


def seconds(value: object) -> dict[str, float]:
    """A stored mapping of names to seconds above zero; what is none of that is left out."""
    return {name: amount for name, amount in view.seconds(value).items() if amount > 0}
