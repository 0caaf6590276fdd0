"""Who votes on the model's error: one kernel, one vote, however many of its sizes were published."""

from __future__ import annotations

from trnbench_fidelity.point import PublishedPoint, Usable


def vote(point: PublishedPoint) -> str:
    """The kernel, instruction, stream or collective that a point is about; points of one share a vote.

    A kernel is the function of a file, whatever its arguments; an instruction is an instruction and the
    memory of its operand; a stream its direction and its cores; a collective its ranks, its instances and
    its source.
    """
    number = point.number
    if point.usable is Usable.SOURCE and point.kernel is not None:
        parts = [point.kernel.file, point.kernel.function]
    elif point.family == "instruction":
        parts = [point.operation.removesuffix(" interval")]
    elif point.family == "hbm":
        parts = [point.operation, f"{number('cores') or 1} cores"]
    elif point.family in ("collective", "collective-network", "point-to-point"):
        parts = [
            point.operation,
            f"{number('ranks') or 2} ranks",
            f"{number('nodes') or 1} instances",
            point.source,
        ]
    else:
        parts = [point.operation or point.op]
    return " / ".join([point.generation, point.family, *parts])
