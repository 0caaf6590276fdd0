"""Throughput of the vector, scalar and gpsimd engines on operands that stay in SBUF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work

LANES = 128  # partitions


class Operation(msgspec.Struct, frozen=True):
    """One instruction: tensors it reads and writes, elementary operations per element."""

    instruction: str
    reads: int = 1
    writes: int = 1
    flops: int = 1


# A copy is counted as one operation per element, so that its rate can be set beside the others;
# tensor_scalar applies two operators, an activation scales, adds a bias and applies its function.
OPERATIONS: dict[str, dict[str, Operation]] = {
    "vector": {
        "copy": Operation("tensor_copy"),
        "tensor_scalar": Operation("tensor_scalar", flops=2),
        "tensor_tensor": Operation("tensor_tensor", reads=2),
        "reduce": Operation("tensor_reduce", writes=0),
    },
    "scalar": {
        "copy": Operation("tensor_copy"),
        "exp": Operation("activation", flops=3),
        "gelu": Operation("activation", flops=3),
    },
    "gpsimd": {
        "copy": Operation("tensor_copy"),
        "tensor_tensor": Operation("tensor_tensor", reads=2),
    },
}


_COUNTED = "its documented peak counts more operations per lane and cycle than any instruction does"
_PEAKS = {"vector": _COUNTED, "scalar": _COUNTED, "gpsimd": "no document gives its peak"}


def _work(engine: str) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        op = OPERATIONS[engine][str(point["op"])]
        elements = float(LANES * int(point["elements"]) * int(point["instructions"]) * extent.cores)
        item = item_bytes(point["dtype"])
        return Work(
            engine_flops={engine: op.flops * elements},
            bytes={"sbuf": (op.reads + op.writes) * elements * item},
            formula=per_core(
                f"{engine}_flops = {op.flops}·{LANES}·elements·instructions; "
                f"sbuf_bytes = {op.reads + op.writes}·{item:g} B for each element",
                extent,
            ),
        )

    return work


def _footprint(engine: str) -> Callable[[Point, Extent], Mapping[str, float]]:
    def footprint(point: Point, _: Extent) -> Mapping[str, float]:
        op = OPERATIONS[engine][str(point["op"])]
        tile = LANES * int(point["elements"]) * item_bytes(point["dtype"])
        return {"sbuf": (op.reads + op.writes) * tile}

    return footprint


def _requires(engine: str) -> Callable[[Point], tuple[str, ...]]:
    return lambda point: (*needs(point["dtype"], OPERATIONS[engine][str(point["op"])].instruction),)


def kernels() -> Iterator[Kernel]:
    """vector_throughput, scalar_throughput, gpsimd_throughput."""
    for engine, operations in OPERATIONS.items():
        yield Kernel(
            name=f"{engine}_throughput",
            family="engine",
            title=f"{engine.capitalize()} engine throughput",
            about=f"What one {engine} instruction after the other sustains, memory aside; {_PEAKS[engine]}.",
            axes=(
                Axis(
                    name="op",
                    kind="str",
                    values=tuple(operations),
                    choices=tuple(operations),
                    about="instruction issued back to back",
                ),
                Axis(name="dtype", kind="str", values=("bf16", "fp32"), choices=PLAIN, about="in and out"),
                Axis(name="elements", values=(128, 2048), about="per partition and instruction"),
                Axis(name="instructions", values=(64,), about="issued one behind the other"),
            ),
            scopes=EVERY_SCOPE,
            default_scopes=EVERY_SCOPE[:1],
            primary=PrimaryMetric(
                name=f"{engine}_flops_per_s",
                unit="FLOP/s",
                count=f"{engine}_flops",
                peak="peak_flops",
                qualifier=engine,
            ),
            work=_work(engine),
            footprint=_footprint(engine),
            requires=_requires(engine),
            tags=("compute", "engine", engine),
            implementations={"model": "roofline"},
        )
