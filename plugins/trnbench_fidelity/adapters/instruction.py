"""Times of single instructions: our probes on the scheduler, one instruction read from its trace."""

from __future__ import annotations

from typing import Any

from trnbench_emulator import seconds
from trnbench_emulator.core.timing import Timing
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint, Quantity
from trnbench_fidelity.probes import repeated, timed

PROBES = "trnbench_kernels.nki.probes"
COUNTS = {"tensor": 512, "vector": 8, "scalar": 8}
"""Instructions in a row, of which the last is read: a tensor engine that starts slowly is warm by then."""

# Operation of a point → opcode, engine, and for `instructions` of the probes: operation, source.
_PROBES: dict[str, tuple[str, str, str, str]] = {
    **dict.fromkeys(
        ("nc_matmul", "nc_matmul interval", "nc_matmul half", "nc_matmul half interval"),
        ("nc_matmul", "tensor", "", ""),
    ),
    "load_stationary": ("load_stationary", "tensor", "", ""),
    "scalar copy psum": ("tensor_copy", "scalar", "copy", "psum"),
    "scalar activation sbuf": ("activation", "scalar", "exp", "sbuf"),
    "scalar activation psum": ("activation", "scalar", "exp", "psum"),
    "vector copy psum": ("tensor_copy", "vector", "copy", "psum"),
    "vector tensor_scalar sbuf": ("tensor_scalar", "vector", "tensor_scalar", "sbuf"),
    "vector tensor_scalar psum": ("tensor_scalar", "vector", "tensor_scalar", "psum"),
    "vector tensor_reduce sbuf": ("tensor_reduce", "vector", "sum", "sbuf"),
    "vector reciprocal sbuf": ("reciprocal", "vector", "reciprocal", "sbuf"),
}
PAIRS = "products and their weights"
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_ROWS = 128


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """From start to end of an instruction, or, of an interval, from one start to the next.

    Profiles show a product of fp32 as two instructions, which the model has as one: of a half, its second
    comes when half of the interval is over.
    """
    if point.operation == PAIRS:
        return _pairs(point, bench)
    found = _PROBES.get(point.operation)
    if found is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated(f"no instruction is known as {point.operation or point.op!r}")
    opcode, engine, *_ = found
    apart, ticks = _last(found, point, bench)
    what = "from start to end"
    if point.operation.endswith(" half interval"):
        ticks, what = apart // 2, "half of what lies between one start and the next"
    elif point.operation.endswith(" interval"):
        ticks, what = apart, "from one start to the next"
    elif point.operation.endswith(" half"):
        ticks, what = ticks - apart // 2, "from start to end of its second half"
    return Prediction(value=seconds(ticks), how=f"{opcode} on {engine}, the last of {COUNTS[engine]}, {what}")


def _pairs(point: PublishedPoint, bench: Bench) -> Prediction:
    """Durations of products and of the loads of their weights, added up as a profile's table does."""
    count = point.number("products")
    if count is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated("how many products is not stated")
    ticks = sum(
        _last(_PROBES[half], point, bench)[1] for half in ("nc_matmul", "load_stationary")
    )  # of one product and of one load
    return Prediction(
        value=count * seconds(ticks), how=f"{count} of nc_matmul and load_stationary, each from start to end"
    )


def _last(found: tuple[str, str, str, str], point: PublishedPoint, bench: Bench) -> tuple[int, int]:
    """Of the last of several in a row: ticks from the start of the one before it, and from its start to its
    end."""
    opcode, engine, *_ = found
    schedule = _timed(found, point, bench).schedule
    program = schedule.program
    mine = [
        at
        for at, number in enumerate(program.op)
        if program.ops[number].opcode == opcode and program.ops[number].engine == engine
    ][: COUNTS[engine]]
    before, last = mine[-2:]
    return schedule.start[last] - schedule.start[before], schedule.end[last] - schedule.start[last]


def _timed(found: tuple[str, str, str, str], point: PublishedPoint, bench: Bench) -> Timing:
    opcode, engine, op, source = found
    count = COUNTS[engine]
    elements = point.number("N") or point.number("columns")
    if elements is None:
        raise NotEmulated("the elements per partition are not stated")
    dtype = _DTYPES.get(point.dtype)
    if dtype is None:
        raise NotEmulated(f"no instruction takes {point.dtype_printed or point.dtype!r}")
    if opcode == "load_stationary":
        # Half of a product: NKI has no call for it.
        columns = point.number("columns") or _ROWS
        return repeated(engine, opcode, point.dtype, {"N_stationary": columns}, count, bench, point.system)
    operand = ((_ROWS, elements), dtype)
    arguments: tuple[Any, ...] = (operand, op, engine, source, count)
    kernel = "instructions"
    if opcode == "nc_matmul":
        kernel, arguments = "matmuls", (((_ROWS, _ROWS), dtype), operand, count)
    return timed(f"{PROBES}:{kernel}", arguments, bench, point.system)
