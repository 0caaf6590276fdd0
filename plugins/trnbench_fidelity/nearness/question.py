"""What an emulated result is about, in the words of published points."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import PublishedAs, always
from trnbench.kernels.work import Spread
from trnbench_fidelity.nearness.subject import CONTEXT, GRAPH, TYPELESS, Known, Subject, link_program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trnbench.generation import System
    from trnbench.kernels.kernel import Case, Kernel

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
        return of_collective(
            system,
            name or words.operation(point),
            size=words.sizes(point).get("bytes", 0.0),
            ranks=2 if pair else extent.ranks,
            cores_per_rank=system.cores_per_device // ranks_per_device,
            nodes=(2 if across else 1) if pair else extent.hosts,
            point_to_point=words.group == "point-to-point",
        )
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


def of_collective(
    system: System,
    collective: str,
    *,
    size: float,
    ranks: int,
    cores_per_rank: int,
    nodes: int = 1,
    context: str = CONTEXT,
    point_to_point: bool = False,
) -> Subject:
    """The subject of one collective (or message) of `size` bytes over `ranks` on `nodes` hosts."""
    inside = context == GRAPH and nodes == 1
    group = GRAPH if context == GRAPH else "point-to-point" if point_to_point else "collective"
    if system.instance.scope is Scope.ULTRASERVER and (nodes > 1 or not (point_to_point or inside)):
        group = ULTRASERVER
    elif nodes > 1 and group != GRAPH:
        group = MESSAGES if point_to_point else "network"
    return Subject(
        generation=system.generation.name,
        group=group,
        program=link_program(collective, cores_per_rank, context),
        operation=context,
        sizes={"bytes": size, "ranks": float(ranks), "nodes": float(nodes)},
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
            return msgspec.structs.replace(subject, program=of.program, operation=of.operation)
    return subject
