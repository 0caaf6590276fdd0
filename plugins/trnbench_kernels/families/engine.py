"""Instructions of one engine on operands that stay on chip: how many per second, and how long one takes.

Those of the tensor engine are in `tensor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, renamed
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work

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


def _work(engine: str, point: Point, op: Operation, extent: Extent) -> Work:
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


def _footprint(point: Point, tiles: int) -> Mapping[str, float]:
    # A chain works in place; beside its tile a column for reductions. A burst leaves what it reads.
    tile = LANES * (int(point["elements"]) * item_bytes(point["dtype"]) + 4)
    return {"sbuf": tiles * tile}


def _axes(
    ops: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: tuple[int, ...],
    count: int,
    choices: tuple[str, ...] = (),
) -> Iterator[Axis]:
    yield Axis(
        name="op", kind="str", values=ops, choices=choices or ops, about="instruction issued back to back"
    )
    yield Axis(name="dtype", kind="str", values=dtypes, choices=PLAIN, about="in and out")
    yield Axis(name="elements", values=elements, about="per partition and instruction")
    yield Axis(name="instructions", values=(count,), about="issued one behind the other")


def _kernel(
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
        work=lambda point, extent: _work(engine, point, find(point), extent),
        footprint=lambda point, _: _footprint(point, tiles),
        requires=lambda point: (*needs(point["dtype"], find(point).instruction),),
        tags=("compute", "engine", *tags),
        implementations={"nki": f"{_NKI}:{nki}"},
        published=_published(engine, burst=nki.endswith("burst")),
    )


def _published(engine: str, *, burst: bool) -> PublishedAs:
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


def kernels() -> Iterator[Kernel]:
    """Throughput and latency of each engine's instructions, sweeps of activations and reciprocals."""
    for engine, operations in OPERATIONS.items():
        yield _kernel(
            f"{engine}_throughput",
            engine,
            _named(engine),
            tuple(
                _axes(
                    # Reciprocals have a sweep of their own.
                    tuple(
                        name for name, each in operations.items() if name != "reciprocal" and not each.asked
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
        ops = tuple(name for name, each in operations.items() if each.leaves)
        swept = tuple(name for name in ops if not operations[name].asked)
        yield _kernel(
            f"{engine}_latency",
            engine,
            _named(engine),
            tuple(_axes(swept, ("fp32",), (128,), 256, ops)),
            PrimaryMetric(name="instructions_per_s", unit="1/s", count="instructions"),
            title=f"{engine.capitalize()} instructions that wait for each other",
            about=f"How soon a {engine} instruction can use the result of the one before.",
            nki=f"{engine}_chain",
            tags=(engine, "latency"),
        )
    yield _kernel(
        "activation_sweep",
        "scalar",
        lambda _: _ACTIVATION,
        tuple(_axes(FUNCTIONS[:1], ("fp32",), (64, 256, 1024, 4096), 256, FUNCTIONS)),
        _elements("scalar"),
        title="Activations by size",
        about="Where the fixed cost of an activation ends and the scalar engine's rate begins.",
        nki="scalar_burst",
        tags=("scalar", "activation"),
    )
    for engine in ("vector", "scalar"):
        yield _kernel(
            f"{engine}_reciprocal",
            engine,
            _named(engine),
            tuple(_axes(("reciprocal",), ("fp32",), (64, 512, 4096), 256)),
            _elements(engine),
            title=f"Reciprocals on the {engine} engine",
            about=f"Divisions per second: 1/x by the {engine} engine's instruction.",
            nki=f"{engine}_burst",
            tags=(engine, "reciprocal"),
        )
