"""Instructions of one engine on operands that stay on chip: how many per second, and how long one takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from trnbench.kernels.kernel import Axis, Kernel, Point, PrimaryMetric, PublishedAs, asks, renamed, word_axis
from trnbench.kernels.work import EVERY_SCOPE, PLAIN, Extent, Work, item_bytes, needs, per_core

LANES = 128  # partitions
_NKI = "trnbench_kernels.nki.engines"


class Operation(msgspec.Struct, frozen=True):
    """One instruction: tensors it reads and writes, elementary operations per element.

    `leaves`: whether its result has the operand's shape, so that the next one can take it. `asked`: issued
    only when it is asked for.
    """

    instruction: str
    reads: int = 1
    writes: int = 1
    flops: int = 1
    leaves: bool = True
    asked: bool = False


# A copy is counted as one operation per element, so that its rate can be set beside the others;
# tensor_scalar applies two operators, an activation scales, adds a bias and applies its function.
_ACTIVATION = Operation("activation", flops=3)
OPERATIONS: dict[str, dict[str, Operation]] = {
    "vector": {
        "copy": Operation("tensor_copy"),
        "tensor_scalar": Operation("tensor_scalar", flops=2),
        "tensor_tensor": Operation("tensor_tensor", reads=2),
        "reduce": Operation("tensor_reduce", writes=0, leaves=False),
        "reciprocal": Operation("reciprocal"),
        "scalar_tensor_tensor": Operation("scalar_tensor_tensor", reads=2, flops=2, asked=True),
        "scan": Operation("tensor_tensor_scan", reads=2, flops=2, asked=True),
        "exp": Operation("exponential", asked=True),
    },
    "scalar": {
        "copy": Operation("activation"),
        "exp": _ACTIVATION,
        "gelu": _ACTIVATION,
        "reciprocal": _ACTIVATION,
    },
    "gpsimd": {
        "copy": Operation("tensor_copy"),
        "tensor_tensor": Operation("tensor_tensor", reads=2),
        "tensor_scalar": Operation("tensor_scalar", flops=2, asked=True),
        "iota": Operation("iota", reads=0, leaves=False, asked=True),
    },
}
FUNCTIONS = ("exp", "gelu", "tanh", "sigmoid", "silu", "sqrt", "rsqrt", "square", "log", "sin", "erf", "relu")


def _elements(engine: str) -> PrimaryMetric:
    """Against lanes × clock: documents that print operations count more of them than instructions do."""
    return PrimaryMetric(
        name="elements_per_s", unit="element/s", count="elements", peak="element_rate", qualifier=engine
    )


def _instruction_work(engine: str, point: Point, op: Operation, extent: Extent) -> Work:
    count = int(point["instructions"])
    elements = float(LANES * int(point["elements"]) * count * extent.cores)
    item = item_bytes(point["dtype"])
    return Work(
        engine_flops={engine: op.flops * elements},
        bytes={"sbuf": (op.reads + op.writes) * elements * item},
        elements=elements,
        instructions=float(count * extent.cores),
        formula=per_core(
            f"{engine}_flops = {op.flops}·{LANES}·elements·instructions; "
            f"sbuf_bytes = {op.reads + op.writes}·{item:g} B for each element",
            extent,
        ),
    )


def _instruction_footprint(point: Point, tiles: int) -> Mapping[str, float]:
    # A chain works in place; beside its tile a column for reductions. A burst leaves what it reads.
    tile = LANES * (int(point["elements"]) * item_bytes(point["dtype"]) + 4)
    return {"sbuf": tiles * tile}


def _instruction_axes(
    ops: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: tuple[int, ...],
    count: int,
    choices: tuple[str, ...] = (),
) -> Iterator[Axis]:
    yield word_axis("op", "instruction issued back to back", *ops, choices=choices or ops)
    yield word_axis("dtype", "in and out", *dtypes, choices=PLAIN)
    yield Axis(name="elements", values=elements, about="per partition and instruction")
    yield Axis(name="instructions", values=(count,), about="issued one behind the other")


def _instruction_kernel(
    name: str,
    engine: str,
    find: Callable[[Point], Operation],
    axes: tuple[Axis, ...],
    primary: PrimaryMetric,
    *,
    title: str,
    about: str,
    nki: str,
    tags: tuple[str, ...],
) -> Kernel:
    tiles = 8 if nki.endswith("burst") else 1  # four operands and as many results
    return Kernel(
        name=name,
        family="engine",
        title=title,
        about=about,
        axes=axes,
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=primary,
        work=lambda point, extent: _instruction_work(engine, point, find(point), extent),
        footprint=lambda point, _: _instruction_footprint(point, tiles),
        requires=lambda point: (*needs(point["dtype"], find(point).instruction),),
        tags=("compute", "engine", *tags),
        implementations={"nki": f"{_NKI}:{nki}"},
        published=_instruction_published(engine, burst=nki.endswith("burst")),
    )


def _instruction_published(engine: str, *, burst: bool) -> PublishedAs:
    """Operands lie in SBUF. A chain of instructions is another program than the one that was published."""

    def operation(point: Point) -> str:
        op = str(point["op"])
        # What the scalar engine computes is one instruction, whatever the function.
        return f"{engine} {'activation' if OPERATIONS[engine].get(op, _ACTIVATION) is _ACTIVATION else op}"

    return PublishedAs(
        group="instruction",
        operation=operation,
        program=(lambda point: f"{operation(point)} sbuf") if burst else (lambda _: ""),
        sizes=renamed({"N": "elements"}),
    )


def _named(engine: str) -> Callable[[Point], Operation]:
    return lambda point: OPERATIONS[engine][str(point["op"])]


def instructions() -> Iterator[Kernel]:
    """Throughput and latency of each engine's instructions, sweeps of activations and reciprocals."""
    for engine, operations in OPERATIONS.items():
        yield _instruction_kernel(
            f"{engine}_throughput",
            engine,
            _named(engine),
            tuple(
                _instruction_axes(
                    # Reciprocals have a sweep of their own.
                    tuple(
                        name
                        for name, operation in operations.items()
                        if name != "reciprocal" and not operation.asked
                    ),
                    ("bf16", "fp32"),
                    (128, 2048),
                    256,
                    tuple(operations),
                )
            ),
            _elements(engine),
            title=f"{engine.capitalize()} engine throughput",
            about=f"What one {engine} instruction after the other sustains, memory aside.",
            nki=f"{engine}_burst",
            tags=(engine,),
        )
    for engine, operations in OPERATIONS.items():
        ops = tuple(name for name, operation in operations.items() if operation.leaves)
        swept = tuple(name for name in ops if not operations[name].asked)
        yield _instruction_kernel(
            f"{engine}_latency",
            engine,
            _named(engine),
            tuple(_instruction_axes(swept, ("fp32",), (128,), 256, ops)),
            PrimaryMetric(name="instructions_per_s", unit="1/s", count="instructions"),
            title=f"{engine.capitalize()} instructions that wait for each other",
            about=f"How soon a {engine} instruction can use the result of the one before.",
            nki=f"{engine}_chain",
            tags=(engine, "latency"),
        )
    yield from _single_functions()


def _single_functions() -> Iterator[Kernel]:
    """activation_sweep, vector_reciprocal, scalar_reciprocal."""
    yield _instruction_kernel(
        "activation_sweep",
        "scalar",
        lambda _: _ACTIVATION,
        tuple(_instruction_axes(FUNCTIONS[:1], ("fp32",), (64, 256, 1024, 4096), 256, FUNCTIONS)),
        _elements("scalar"),
        title="Activations by size",
        about="Where the fixed cost of an activation ends and the scalar engine's rate begins.",
        nki="scalar_burst",
        tags=("scalar", "activation"),
    )
    for engine in ("vector", "scalar"):
        yield _instruction_kernel(
            f"{engine}_reciprocal",
            engine,
            _named(engine),
            tuple(_instruction_axes(("reciprocal",), ("fp32",), (64, 512, 4096), 256)),
            _elements(engine),
            title=f"Reciprocals on the {engine} engine",
            about=f"Divisions per second: 1/x by the {engine} engine's instruction.",
            nki=f"{engine}_burst",
            tags=(engine, "reciprocal"),
        )


_DEEP = {"fp8": 2, "mxfp8": 4, "mxfp4": 4}
"""Elements of the contraction that one row of the array takes at once, where it is more than one."""


def contraction(point: Point) -> int:
    """Of one product that fills the array."""
    return LANES * _DEEP.get(str(point["dtype"]), 1)


def _throughput_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * contraction(point) * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(
            f"flops = 2·{contraction(point)}·{LANES}·columns·instructions, operands on chip", extent
        ),
    )


def _throughput_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"sbuf": contraction(point) * (LANES + int(point["columns"])) * item_bytes(point["dtype"])}


def _latency_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * LANES**3 * many,
        engine_flops={"vector": float(LANES * LANES * many)},
        instructions=float(many),
        formula=per_core(
            f"flops = 2·{LANES}³·instructions; vector_flops = {LANES}²·instructions, the copies", extent
        ),
    )


def _product_instruction(point: Point) -> str:
    return "nc_matmul_mx" if str(point["dtype"]).startswith("mx") else "nc_matmul"


def tensor_products() -> Iterator[Kernel]:
    """tensor_throughput, tensor_latency."""
    yield Kernel(
        name="tensor_throughput",
        family="engine",
        title="Tensor engine throughput",
        about="Products of the same two tiles one after the other: what the array sustains, memory aside.",
        axes=(
            word_axis(
                "dtype",
                "of both tiles; fp8 in double rows, four microscaled elements to a row",
                "bf16",
                "fp32",
                "fp8",
                "mxfp8",
                choices=("bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "mxfp4"),
            ),
            Axis(name="columns", values=(64, 512), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_throughput_work,
        footprint=_throughput_footprint,
        requires=lambda point: (*needs(point["dtype"], _product_instruction(point)),),
        valid=lambda point: "" if int(point["columns"]) <= 512 else "a moving tile has up to 512 columns",
        tags=("compute", "engine", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.engines:tensor_burst"},
        published=PublishedAs(
            group="instruction",
            operation=_product_instruction,
            program=_product_instruction,
            sizes=renamed({"N": "columns"}),
        ),
    )
    yield Kernel(
        name="tensor_latency",
        family="engine",
        title="Products that wait for each other",
        about="How soon a product can use the result of the one before: PSUM, a copy, the array.",
        axes=(
            word_axis("dtype", "of both tiles", "bf16", choices=PLAIN),
            Axis(name="instructions", values=(64,), about="products, each of what the one before left"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="instructions_per_s", unit="1/s", count="instructions"),
        work=_latency_work,
        footprint=lambda point, _: {"sbuf": 2 * LANES * LANES * item_bytes(point["dtype"])},
        requires=asks("nc_matmul", "tensor_scalar"),
        tags=("compute", "engine", "tensor", "latency"),
        implementations={"nki": "trnbench_kernels.nki.engines:tensor_chain"},
        published=PublishedAs(group="instruction", operation=_product_instruction),
    )
