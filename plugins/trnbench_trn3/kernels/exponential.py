"""The exponential as an instruction of the vector engine, beside the scalar engine's activation."""

from __future__ import annotations

from collections.abc import Iterator

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
_TILES = 8  # four operands and as many results


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    elements, item = float(LANES * int(point["elements"]) * many), item_bytes(point["dtype"])
    engine = str(point["engine"])
    return Work(
        engine_flops={engine: elements},
        bytes={"sbuf": 2 * item * elements},
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"{engine}_flops = {LANES}·elements·instructions, an exponential each; sbuf_bytes = 2·{item:g} B"
            " for each",
            extent,
        ),
    )


def kernels() -> Iterator[Kernel]:
    """exponential_engines."""
    yield Kernel(
        name="exponential_engines",
        family="engine",
        title="Exponentials by the vector and by the scalar engine",
        about="Does the vector engine's own exponential give four times those of an activation?",
        axes=(
            Axis(
                name="engine",
                kind="str",
                values=("vector", "scalar"),
                choices=("vector", "scalar"),
                about="the vector engine by nisa.exponential, the scalar engine by an activation",
            ),
            Axis(name="dtype", kind="str", values=("fp32",), choices=("bf16", "fp32"), about="in and out"),
            Axis(name="elements", values=(512,), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="elements_per_s", unit="element/s", count="elements"),
        work=_work,
        footprint=lambda point, _: {
            "sbuf": _TILES * LANES * int(point["elements"]) * item_bytes(point["dtype"])
        },
        # Without the instruction there is nothing to set the activation beside.
        requires=lambda point: (*needs(point["dtype"], "exponential", "activation"),),
        tags=("compute", "engine", "vector", "scalar", "activation"),
        implementations={"nki": "trnbench_trn3.nki.exponential:exponential"},
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="vector engine",
                says="the vector engine's exponential has four times the throughput of the scalar engine's",
            ),
        ),
    )
