"""Making microscaled operands on chip: 16-bit floats to MXFP8 and a scale for every 32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench import (
    Axis,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    Scope,
    Statement,
    Work,
    item_bytes,
    needs,
    per_core,
)

LANES = 128  # partitions
_SETS = 4  # results that a burst goes round


def _moved(point: Point) -> float:
    """Bytes of SBUF for each element: it is read, its eight bits and its share of a scale are written."""
    return item_bytes(point["dtype"]) + item_bytes("mxfp8")


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    elements = float(LANES * int(point["elements"]) * many)
    return Work(
        engine_flops={"vector": elements},
        bytes={"sbuf": _moved(point) * elements},
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"vector_flops = {LANES}·elements·instructions; sbuf_bytes = {_moved(point):g} B each",
            extent,
        ),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # Tiles of scales have a row for every partition, of which one in eight is used.
    words = int(point["elements"]) // 4
    return {"sbuf": LANES * (int(point["elements"]) * item_bytes(point["dtype"]) + _SETS * 5 * words)}


def kernels() -> Iterator[Kernel]:
    """quantize_throughput."""
    yield Kernel(
        name="quantize_throughput",
        family="engine",
        title="Quantising to MXFP8",
        about="What the vector engine sustains in making the operands of a microscaled product.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp16"), about="in"),
            Axis(name="elements", values=(128, 2048), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(
            name="elements_per_s", unit="element/s", count="elements", peak="element_rate", qualifier="vector"
        ),
        work=_work,
        footprint=_footprint,
        requires=lambda point: (*needs(point["dtype"], "quantize_mx"),),
        valid=lambda point: "" if int(point["elements"]) % 4 == 0 else "a word has four elements",
        tags=("compute", "engine", "vector"),
        implementations={"nki": "trnbench_trn3.nki.engines_mx:quantize_burst"},
        published=PublishedAs(group="instruction", operation=lambda _: "vector quantize_mx"),
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="vector engine",
                says="quantize_mx takes four elements of each partition per cycle",
            ),
        ),
    )
