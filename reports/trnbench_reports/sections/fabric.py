"""Section 5: what the collectives make of the links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Run
from trnbench_reports import view, words
from trnbench_reports.charts import bandwidth, figure, links
from trnbench_reports.charts.bandwidth import Curve
from trnbench_reports.sections import fabric_algorithms, fabric_links, fabric_model
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

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
                drawn.append(figure.show(bandwidth.draw(f"bus-{index}-{number}", kernel, curves)))
        if drawn:
            parts.append(
                {
                    "heading": heading,
                    "figures": drawn,
                    "algorithms": fabric_algorithms.algorithms(index, run),
                    "scaling": fabric_algorithms.scaling(index, run),
                    "losses": fabric_model.losses(index, run),
                    "pictures": fabric_model.pictures(index, run),
                    "links": fabric_links.tables(index, run, runs),
                }
            )
            for measurement in run.measurements:
                if view.faint(measurement) and "busbw_bytes_per_s" in measurement.metrics:
                    faint[words.clean(measurement.case.instance, 60)] = None
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
                    system=words.clean(record.instance, 60),
                    colour=view.colour(run, record.generation),
                    points=tuple(
                        (size, each.metrics["busbw_bytes_per_s"].value, each, view.anchor(index, each))
                        for size, each in sorted(by_size.items())
                    ),
                )
            )
    return curves


def _size(each: Measurement) -> float:
    """Of the message: the axis that says so, else what the algorithm bandwidth implies."""
    for name in _MESSAGE:
        value = each.case.point.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    algbw = each.metrics.get("algbw_bytes_per_s")
    return round(algbw.value * each.time_s, 3) if algbw and each.time_s else 0.0
