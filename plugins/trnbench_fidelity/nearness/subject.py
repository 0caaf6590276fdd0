"""What a number is about, in the words of published points: of a point, and of an emulated result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.facts.fact import Scope
from trnbench_fidelity.point import Kind, PublishedPoint, Quantity, ShapeValue, Usable, vote

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


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """`program` is the kernel of FIDELITY's classes, "" where the emulated program is not published;
    `operation` with `dtype` is what another kernel must share; `sizes` are axes of either kind.
    """

    generation: str
    group: str
    program: str
    operation: str
    dtype: str = ""
    sizes: Mapping[str, float] = {}


class Known(msgspec.Struct, frozen=True, kw_only=True):
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
