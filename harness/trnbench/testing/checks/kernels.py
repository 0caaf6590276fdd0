"""Kernels: formulas that count what they should, names that exist."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trnbench.facts.scope import Scope
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

ASKS = ("dtype", "instruction", "link", "hosts", "devices", "cores", "memory", "feature")


def kernels(subject: Subject) -> Iterator[Finding | str]:
    """Each kernel at the first and the last value of its axes."""
    for kernel in subject.kernels:
        for point in corners(kernel):
            yield f"{kernel.name} {dict(point)}"
            yield from _point(kernel, point)
        yield from _statements(subject, kernel)


def _statements(subject: Subject, kernel: Kernel) -> Iterator[Finding]:
    """What it puts to the test stands in a source that some generation knows."""
    if not kernel.tests:
        return
    registry = subject.registry
    known = {source for name in registry.generations for source in registry.book(name).sources}
    for each in kernel.tests:
        if each.source not in known:
            yield Finding(
                f"kernel {kernel.name}",
                f"tests what source {each.source!r} says, which no fact file describes",
                f"[sources.{each.source}] with its document, version and date in a file of facts",
            )


def corners(kernel: Kernel) -> Iterator[Point]:
    """All axes at their first value, then all at their last, where the kernel calls that valid."""
    for index in (0, -1):
        point = {axis.name: axis.values[index] for axis in kernel.axes}
        if not kernel.valid(point):
            yield point


def _point(kernel: Kernel, point: Point) -> Iterator[Finding]:
    inner = ",".join(f"{name}={value}" for name, value in point.items())
    about = f"kernel {kernel.name}[{inner}]"
    scope = kernel.scopes[0]
    extent = (
        Extent(scope=scope, cores=16, devices=8, hosts=4, ranks=8)
        if scope.rank > Scope.CORE.rank
        else Extent(scope=scope)
    )
    work = kernel.work(point, extent)
    counts = work.as_counts()
    for name, value in counts.items():
        if not math.isfinite(value) or value < 0:
            yield Finding(
                about, f"work counts {name} = {value}", "count FLOP and bytes with finite numbers >= 0"
            )
    if kernel.primary.count and not counts.get(kernel.primary.count):
        yield Finding(
            about,
            f"is judged by {kernel.primary.count!r}, which its work does not count: "
            f"{', '.join(sorted(counts)) or 'nothing'}",
            "name in primary.count an entry of Work.as_counts()",
        )
    if counts and not work.formula:
        yield Finding(
            about, "its counts have no formula", "say in Work.formula how they follow from the axes"
        )
    if kernel.work(point, extent) != work:
        yield Finding(about, "work counts something else the second time", "use nothing but point and extent")
    for level, size in kernel.footprint(point, extent).items():
        if not math.isfinite(size) or size < 0:
            yield Finding(about, f"needs {size} bytes of {level}", "footprint gives finite numbers >= 0")
    for need in kernel.requires(point):
        if need.partition(":")[0] not in ASKS or not need.partition(":")[2]:
            yield Finding(
                about,
                f"requires {need!r}, which nothing answers",
                f"write KIND:NAME, KIND one of {', '.join(ASKS)}",
            )
