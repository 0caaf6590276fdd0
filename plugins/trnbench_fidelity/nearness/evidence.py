"""Published measurements by what they are about, the class of the nearest, and what a question asks them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import Nearness, Scope, Spread
from trnbench.kernels.kernel import Case, Kernel, PublishedAs, always
from trnbench.record import Record, grouped
from trnbench_emulator.backend import CollectiveQuestion
from trnbench_fidelity.point import Kind, PublishedPoint, Quantity, ShapeValue, Usable, vote

if TYPE_CHECKING:
    from trnbench.generation import System


CONTEXT = "nccom"
"""Of a collective that does not say: alone, as the runtime's own tool measures it."""

GRAPH = "graph"
"""Context and group of a collective inside a compiled graph: evidence of nothing alone, and the reverse."""

GROUPS: dict[str, str] = {
    "gemm": "core",
    "kernel": "core",
    "hbm": "hbm",
    "dma": "dma",
    "instruction": "instruction",
    "collective": "collective",
    "collective-graph": GRAPH,
    "collective-network": "network",
    "point-to-point": "point-to-point",
    "host-copy": "host-copy",
}
"""Family of points → what it may be evidence for. Families without a model are evidence for nothing."""

LINKS = ("collective", "network", "point-to-point", GRAPH)
"""Groups whose points are about ranks, and whose data type does not matter: bytes are bytes."""

TYPELESS = ("hbm", "dma", "host-copy", *LINKS)
STREAM_BYTES = 8 * 2**30  # what each core streams where a point says only that it is the suite's usual size


class Subject(Record, kw_only=True):
    """`program` is the kernel of FIDELITY's classes, "" where the emulated program is not published;
    `operation` with `dtype` is what another kernel must share; `sizes` are axes of either kind.
    """

    generation: str
    group: str
    program: str
    operation: str
    dtype: str = ""
    sizes: Mapping[str, float] = {}


class Known(Record, kw_only=True):
    """One published measurement as evidence. `asked` is its operation as published, `shape` as printed;
    `scope` is what took part; `kernel` is the file and function it was measured with, "" where unknown."""

    id: str
    subject: Subject
    vote: str
    quantity: Quantity
    value: float
    shape: Mapping[str, ShapeValue]
    asked: str
    scope: Scope
    source: str
    kernel: tuple[str, str] = ("", "")


def known(point: PublishedPoint, kind: Kind = Kind.MEASURED) -> Known | None:
    """None for what is no evidence of a time: points of another kind, that cannot be read or compared."""
    group = GROUPS.get(point.family, "")
    if not group or point.kind is not kind or point.usable is Usable.NO or point.value is None:
        return None
    sizes = _sizes(point, group)
    if group in LINKS and "bytes" not in sizes:
        return None  # a rate of no stated size is evidence of no time
    program, operation = _names(point, group)
    return Known(
        id=point.id,
        subject=Subject(
            generation=point.generation,
            group=group,
            program=program,
            operation=operation,
            dtype="" if group in TYPELESS else point.dtype,
            sizes=sizes,
        ),
        vote=vote(point),
        quantity=point.quantity,
        value=point.value,
        shape=point.shape,
        asked=point.operation,
        scope=_scope(point, group),
        source=point.source,
        kernel=(point.kernel.file, point.kernel.function) if point.kernel is not None else ("", ""),
    )


def link_program(collective: str, cores_per_rank: int, context: str) -> str:
    """A collective with its kind of rank and its context: what FIDELITY calls its kernel."""
    return f"{collective}, {cores_per_rank} cores a rank, {context}"


def _names(point: PublishedPoint, group: str) -> tuple[str, str]:
    """(program, operation)."""
    word = point.operation
    if group == "instruction":
        word = word.removesuffix(" interval")
        return word, word.removesuffix(" sbuf").removesuffix(" psum")
    if group == "dma":
        return word, word.removesuffix("_share")
    if group in LINKS:
        context = str(point.shape.get("context", CONTEXT))
        return link_program(word, point.number("lnc") or 1, context), context
    if group == "core":
        return vote(point), word
    return word, word


def _sizes(point: PublishedPoint, group: str) -> dict[str, float]:
    numbers = {name: float(value) for name, value in _flat(point.shape) if name not in ("cores", "lnc")}
    if group == "hbm":
        cores = point.number("cores") or 1
        size = point.number("bytes_per_core") or point.number("bytes") or STREAM_BYTES
        return {"bytes": float(size), "cores": float(cores), "devices": 1.0}
    if group == "host-copy":
        return {**numbers, "devices": 1.0}
    if group in LINKS:
        sizes = {"ranks": float(point.number("ranks") or 0), "nodes": float(point.number("nodes") or 1)}
        return {**sizes, **{name: value for name, value in numbers.items() if name == "bytes"}}
    return numbers


def _flat(shape: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Numbers of a shape, those of lists one by one; words are names of versions, not sizes."""
    found: list[tuple[str, float]] = []
    for name, value in shape.items():
        if isinstance(value, list):
            found += [(f"{name}.{at}", float(each)) for at, each in enumerate(value)]
        elif isinstance(value, int | float):
            found.append((name, float(value)))
    return found


def _scope(point: PublishedPoint, group: str) -> Scope:
    if group in LINKS or group == "host-copy":
        return Scope.DEVICE
    if (point.number("cores") or 1) > 1:
        return Scope.DEVICE
    return Scope.LOGICAL_CORE if point.number("lnc") == 2 else Scope.CORE


NEAR = math.log(2.0) + 1e-9
"""Sizes within a factor of 2 of each other count as the same."""

NAMED = 3
"""So many ids of the nearest points are kept with a result."""


class Evidence:
    """All points, filed by generation and group. `limits`: inequalities of collectives in a graph."""

    def __init__(self, points: Iterable[Known], limits: Iterable[Known] = ()) -> None:
        self.points, self._limits = tuple(points), tuple(limits)
        self._groups = grouped(self.points, lambda point: (point.subject.generation, point.subject.group))

    def of_group(self, generation: str, group: str) -> Sequence[Known]:
        return self._groups.get((generation, group), ())

    def limit(self, subject: Subject) -> Known | None:
        """The tightest inequality that holds for it: of as much data or more over the same ranks."""
        found = [each for each in self._limits if _bounds(each.subject, subject)]
        return min(found, key=lambda each: (each.value, each.id), default=None)

    def classify(
        self, subject: Subject, without: Callable[[Known], bool] = lambda _: False
    ) -> tuple[Nearness, tuple[Known, ...]]:
        """The class of the nearest evidence, and what is in it, nearest first; `without` removes points."""
        group = self.of_group(subject.generation, subject.group)
        for kind, near in _NEAR_ENOUGH.items():
            among = self.points if kind is Nearness.ELSEWHERE else group
            left = [each for each in among if near(subject, each.subject) and not without(each)]
            if left:
                return kind, tuple(sorted(left, key=lambda each: (_distance(subject, each.subject), each.id)))
        return Nearness.NONE, ()


def same_size(one: Subject, other: Subject) -> bool:
    """Whether every axis that either states lies within a factor of 2; a size unknown is not the same. Data
    types other than each other's are other sizes of the kernel."""
    if one.dtype != other.dtype or one.sizes.keys() != other.sizes.keys() or not one.sizes:
        return False
    return all(_apart(one.sizes[axis], other.sizes[axis]) <= NEAR for axis in one.sizes)


def _same_program(one: Subject, other: Subject) -> bool:
    return bool(one.program) and one.program == other.program


_NEAR_ENOUGH: dict[Nearness, Callable[[Subject, Subject], bool]] = {
    Nearness.SAME: lambda one, other: _same_program(one, other) and same_size(one, other),
    Nearness.KERNEL: _same_program,
    Nearness.OPERATION: lambda one, other: (one.operation, one.dtype) == (other.operation, other.dtype),
    Nearness.FAMILY: lambda _, __: True,
    Nearness.ELSEWHERE: lambda one, other: one.group == other.group,
}
"""Which points put a subject into a class, the nearest class first: of its generation and group, and at last
of any generation."""


def _bounds(published: Subject, asked: Subject) -> bool:
    """Whether `asked` takes no longer than `published`: the same collective of no more bytes."""
    rest = {name: size for name, size in asked.sizes.items() if name != "bytes"}
    return (
        (published.generation, published.group, published.program)
        == (asked.generation, asked.group, asked.program)
        and {name: size for name, size in published.sizes.items() if name != "bytes"} == rest
        and asked.sizes.get("bytes", 0.0) <= published.sizes.get("bytes", 0.0)
    )


def _apart(a: float, b: float) -> float:
    """How far two sizes are from each other: |ln|."""
    if a <= 0.0 or b <= 0.0:
        return 0.0 if a == b else math.inf
    return abs(math.log(a / b))


def _distance(one: Subject, other: Subject) -> tuple[int, int, int, float]:
    """To put the nearest first: program, type, axes in common, then their factors multiplied."""
    common: Mapping[str, float] = {axis: size for axis, size in one.sizes.items() if axis in other.sizes}
    return (
        (one.program != other.program) + (one.operation != other.operation),
        int(one.dtype != other.dtype),
        -len(common),
        sum(_apart(size, other.sizes[axis]) for axis, size in common.items()),
    )


ULTRASERVER = "ultraserver"
"""Group of what crosses the links between the instances of an UltraServer: nothing is published of it."""

MESSAGES = "messages between hosts"
"""Group of single messages across a network: what is published of them names neither ranks nor size."""


def described(kernel: Kernel) -> PublishedAs:
    """What the kernel declares, else its own name."""
    if kernel.published is not None:
        return kernel.published
    group = "collective" if kernel.spread.linked else "core"
    return PublishedAs(group=group, operation=always(kernel.name))


def of_case(case: Case, system: System) -> Subject:
    """The subject of a planned case; of a sharded one that of its largest share."""
    case = case.share
    words, point, extent = described(case.kernel), case.key.point, case.extent
    if words.group in ("collective", "point-to-point"):
        name = words.program(point)
        pair = case.kernel.spread is Spread.PAIR
        across = str(point.get("reach", "")) == "other-host" if pair else True
        ranks_per_device = 1 if pair else max(1, extent.ranks // max(extent.devices, 1))
        asked = CollectiveQuestion(
            collective=name or words.operation(point),
            size=words.sizes(point).get("bytes", 0.0),
            ranks=2 if pair else extent.ranks,
            cores_per_rank=system.cores_per_device // ranks_per_device,
            nodes=(2 if across else 1) if pair else extent.hosts,
            context=CONTEXT,
            point_to_point=words.group == "point-to-point",
        )
        return of_collective(system, asked)
    sizes = dict(words.sizes(point))
    if words.group == "hbm":
        sizes |= {"cores": float(extent.cores // max(extent.devices, 1)), "devices": float(extent.devices)}
    elif words.group == "host-copy":
        sizes |= {"devices": float(extent.devices)}
    return Subject(
        generation=system.generation.name,
        group=words.group,
        program=words.program(point),
        operation=words.operation(point),
        dtype="" if words.group in TYPELESS else case.key.dtype,
        sizes=sizes,
    )


def of_collective(system: System, asked: CollectiveQuestion) -> Subject:
    """The subject of one collective, or message."""
    nodes, context, message = asked.nodes, asked.context, asked.point_to_point
    inside = context == GRAPH and nodes == 1
    group = GRAPH if context == GRAPH else "point-to-point" if message else "collective"
    if system.instance.scope is Scope.ULTRASERVER and (nodes > 1 or not (message or inside)):
        group = ULTRASERVER
    elif nodes > 1 and group != GRAPH:
        group = MESSAGES if message else "network"
    return Subject(
        generation=system.generation.name,
        group=group,
        program=link_program(asked.collective, asked.cores_per_rank, context),
        operation=context,
        sizes={"bytes": asked.size, "ranks": float(asked.ranks), "nodes": float(nodes)},
    )


def of_kernel(
    generation: str, source: str, dtype: str, points: Iterable[Known], operation: str = ""
) -> Subject:
    """The subject of somebody's NKI kernel. `source` is "path/to/file.py::function" or "package.module:name".

    It is a published kernel of `points` where file and function are: the end of the path as the point has it.
    """
    file, _, function = source.replace("::", ":").rpartition(":")
    path = PurePath(file).parts
    subject = Subject(generation=generation, group="core", program="", operation=operation, dtype=dtype)
    for point in points:
        if point.kernel[1] != function:
            continue
        theirs = PurePath(point.kernel[0]).parts
        if theirs and path[-len(theirs) :] == theirs:
            of = point.subject
            return replace(subject, program=of.program, operation=of.operation)
    return subject
