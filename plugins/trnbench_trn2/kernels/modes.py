"""Performance modes of the vector engine: several elements per lane and cycle, where operands allow it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trnbench import (
    Axis,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    Scope,
    Statement,
    Work,
    item_bytes,
    needs,
    per_core,
)

LANES = 128  # partitions
_SETS = 4  # operands and results that a burst goes round


class Operation(msgspec.Struct, frozen=True):
    """One instruction: tensors it reads, elementary operations per element."""

    reads: int
    flops: int


OPERATIONS = {
    "tensor_copy": Operation(1, 1),
    "tensor_scalar": Operation(1, 2),
    "tensor_tensor": Operation(2, 1),
}


def _work(point: Point, extent: Extent) -> Work:
    operation, item = OPERATIONS[str(point["op"])], item_bytes(point["dtype"])
    many = int(point["instructions"]) * extent.cores
    elements = float(LANES * int(point["elements"]) * many)
    outside = 1 if point["operands"] == "psum" else 0
    inside = operation.reads + 1 - outside
    return Work(
        engine_flops={"vector": operation.flops * elements},
        bytes={"sbuf": inside * item * elements} | ({"psum": item * elements} if outside else {}),
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"vector_flops = {operation.flops}·{LANES}·elements·instructions; "
            f"sbuf_bytes = {inside}·{item:g} B for each element" + (", one more from PSUM" * outside),
            extent,
        ),
    )


def _footprint(point: Point, _: Extent) -> dict[str, float]:
    tile = LANES * int(point["elements"]) * item_bytes(point["dtype"])
    apart = 2 if point["operands"] == "strided" else 1
    return {"sbuf": _SETS * (OPERATIONS[str(point["op"])].reads + 1) * apart * tile}


def kernels() -> Iterator[Kernel]:
    """vector_modes."""
    yield Kernel(
        name="vector_modes",
        family="engine",
        title="Performance modes of the vector engine",
        about="Which operands earn two or four elements per lane and cycle?",
        axes=(
            Axis(
                name="op",
                kind="str",
                values=("tensor_copy",),
                choices=tuple(OPERATIONS),
                about="instruction issued back to back",
            ),
            Axis(
                name="operands",
                kind="str",
                values=("contiguous", "strided", "psum"),
                choices=("contiguous", "strided", "psum"),
                about="all in SBUF, all there with a gap after each element, or one of them in PSUM",
            ),
            Axis(name="dtype", kind="str", values=("bf16", "fp32"), choices=("bf16", "fp32"), about="of all"),
            Axis(name="elements", values=(512,), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(
            name="elements_per_s", unit="element/s", count="elements", peak="element_rate", qualifier="vector"
        ),
        work=_work,
        footprint=_footprint,
        requires=lambda point: (*needs(point["dtype"], str(point["op"])), "feature:performance_modes"),
        valid=lambda point: (
            "" if int(point["elements"]) <= 512 else "four tiles in PSUM have 512 columns each"
        ),
        tags=("compute", "engine", "vector"),
        implementations={"nki": "trnbench_trn2.nki.modes:mode_burst"},
        tests=(
            Statement(
                source="nki-arch-v3",
                locator="performance mode of the vector engine",
                says="16-bit operands go four times as fast, all in SBUF and contiguous, and twice with a"
                " stride or with one of them in PSUM",
            ),
        ),
    )
