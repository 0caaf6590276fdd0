"""The best that others measured of the same thing: its value in the metric of an emulated result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.facts.fact import Scope
from trnbench.facts.units import show
from trnbench.results.nearness import BestPublished, Nearness
from trnbench_fidelity.nearness.subject import LINKS, Known, Subject
from trnbench_fidelity.point import Quantity

if TYPE_CHECKING:
    from trnbench.kernels.kernel import Case
    from trnbench.results.measurement import Metric

COMPARED = (Nearness.SAME, Nearness.KERNEL, Nearness.OPERATION)
"""Classes whose points do the same: one of the same family alone does something else, at another rate."""

RANKS = ("ranks", "nodes", "cores", "devices")
"""Axes of a size that say who takes part, not how much work there is."""


def best_of(
    points: Iterable[Known], kind: Nearness, subject: Subject, metric: Metric, case: Case | None = None
) -> BestPublished | None:
    """The best of `points`, all of class `kind`, in the metric; None where none has it in the same scope.

    Of `case`, published times become rates by the work that its kernel counts for the published shape.
    """
    valued = [
        (value, point)
        for point in points
        if _alike(point, subject, metric) and (value := value_of(point, metric, case)) is not None
    ]
    if not valued or kind not in COMPARED:
        return None
    if kind is Nearness.KERNEL and (reached := [each for each in valued if _reaches(each[1], subject)]):
        valued = reached
    sign = 1.0 if metric.better == "higher" else -1.0
    value, best = max(valued, key=lambda each: (sign * each[0], each[1].id))
    return BestPublished(
        id=best.id,
        metric=metric.name,
        value=value,
        unit=metric.unit,
        source=best.source,
        kind=kind,
        at="" if kind is Nearness.SAME else _sizes(best.subject),
        reaches=kind is not Nearness.KERNEL or _reaches(best, subject),
    )


def _reaches(point: Known, subject: Subject) -> bool:
    """Whether a rate of the point's size bounds one of the asked size: on as many ranks (within a factor of
    2), and no axis of the work smaller than half of what is asked. A rate grows with the work, as long as
    starts are spread over more of it: what is measured of a small size bounds nothing of a large one.
    """
    mine, asked = point.subject.sizes, subject.sizes
    if mine.keys() != asked.keys():
        return False
    return all(
        mine[axis] >= asked[axis] / 2 and (axis not in RANKS or mine[axis] <= asked[axis] * 2)
        for axis in asked
    )


def _sizes(of: Subject) -> str:
    """Size and ranks of a point in words."""
    sizes = dict(of.sizes)
    words = []
    if "bytes" in sizes:
        words.append(show(sizes.pop("bytes"), "B"))
    nodes = sizes.pop("nodes", 1.0)
    words += [
        f"{value:,.0f} {axis}" if axis in RANKS else f"{axis} {value:,.10g}" for axis, value in sizes.items()
    ]
    return ", ".join(words) + (f" of {nodes:,.0f} instances" if nodes > 1 else "")


def value_of(point: Known, metric: Metric, case: Case | None = None) -> float | None:
    """What a published point says in the unit of the metric, None where it says something else."""
    if point.quantity is Quantity.LATENCY:
        return point.value if metric.name == "latency_s" else _rate(point, metric, case)
    if point.quantity is Quantity.FLOPS:
        return point.value if metric.name == "flops_per_s" else None
    if point.quantity is Quantity.BUSBW:
        return point.value if metric.name == "busbw_bytes_per_s" else None
    if point.quantity is Quantity.BANDWIDTH and point.subject.group not in LINKS:
        return point.value if metric.unit == "B/s" else None
    return None


def _alike(point: Known, subject: Subject, metric: Metric) -> bool:
    """Same operation, type and scope; of a rate any size, of a time the very same one."""
    if point.subject.group in LINKS:
        same = point.subject.program == subject.program
    else:
        same = point.subject.dtype == subject.dtype and point.subject.operation == subject.operation
        same = same and metric.scope is point.scope
    return same and (metric.name != "latency_s" or point.subject.sizes == subject.sizes)


def _rate(point: Known, metric: Metric, case: Case | None) -> float | None:
    """Work over time, of the published shape."""
    from trnbench.kernels.work import Extent, busbw_factor

    if point.subject.group in LINKS:
        if metric.name != "busbw_bytes_per_s":
            return None
        sizes = point.subject.sizes
        return float(busbw_factor(point.asked, int(sizes["ranks"]))) * sizes["bytes"] / point.value
    if case is None or case.kernel.published is None or not case.primary.count:
        return None
    shape = case.kernel.published.point(point.shape)
    if shape is None or metric.name != case.primary.name:
        return None
    counts = case.kernel.work({**shape, "dtype": case.key.dtype}, Extent(scope=Scope.CORE)).as_counts()
    amount = counts.get(case.primary.count, 0.0)
    return amount / point.value if amount else None
