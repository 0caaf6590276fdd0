"""Times of single instructions: our probes on the scheduler, one instruction read from its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench_emulator.clock import seconds
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import PublishedPoint, Quantity
from trnbench_fidelity.prediction import NotEmulated, Prediction
from trnbench_fidelity.scheduled import repeated, timed

if TYPE_CHECKING:
    from trnbench_emulator.core.timing import Timing

PROBES = "trnbench_kernels.nki.probes"
COUNTS = {"tensor": 512, "vector": 8, "scalar": 8}
"""Instructions in a row, of which the last is read: a tensor engine that starts slowly is warm by then."""

# Operation of a point → opcode, engine, and for `instructions` of the probes: operation, source.
_PROBES: dict[str, tuple[str, str, str, str]] = {
    "nc_matmul": ("nc_matmul", "tensor", "", ""),
    "nc_matmul interval": ("nc_matmul", "tensor", "", ""),
    "nc_matmul half": ("nc_matmul", "tensor", "", ""),
    "load_stationary": ("load_stationary", "tensor", "", ""),
    "scalar copy psum": ("tensor_copy", "scalar", "copy", "psum"),
    "scalar activation sbuf": ("activation", "scalar", "exp", "sbuf"),
    "vector copy psum": ("tensor_copy", "vector", "copy", "psum"),
    "vector tensor_scalar sbuf": ("tensor_scalar", "vector", "tensor_scalar", "sbuf"),
    "vector reciprocal sbuf": ("reciprocal", "vector", "reciprocal", "sbuf"),
}
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_ROWS = 128


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """From start to end of an instruction, or, of an interval, from one start to the next.

    Profiles show a product of fp32 as two instructions, which the model has as one: of a half, its second
    comes when half of the interval is over.
    """
    found = _PROBES.get(point.operation)
    if found is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated(f"no instruction is known as {point.operation or point.op!r}")
    opcode, engine, *_ = found
    count = COUNTS[engine]
    schedule = _timed(found, point, bench).schedule
    program = schedule.program
    mine = [
        at
        for at, number in enumerate(program.op)
        if program.ops[number].opcode == opcode and program.ops[number].engine == engine
    ][:count]
    before, last = mine[-2:]
    apart, ticks = schedule.start[last] - schedule.start[before], schedule.end[last] - schedule.start[last]
    what = "from start to end"
    if point.operation.endswith(" interval"):
        ticks, what = apart, "from one start to the next"
    elif point.operation.endswith(" half"):
        ticks, what = ticks - apart // 2, "from start to end of its second half"
    return Prediction(value=seconds(ticks), how=f"{opcode} on {engine}, the last of {count}, {what}")


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
    kernel, arguments = "instructions", _operands(elements, dtype)
    if opcode == "nc_matmul":
        kernel, arguments = "matmuls", (((_ROWS, _ROWS), dtype), *_operands(elements, dtype), count)
    else:
        arguments = (*arguments, op, engine, source, count)
    return timed(f"{PROBES}:{kernel}", arguments, bench, point.system)


def _operands(elements: int, dtype: str) -> tuple[Any, ...]:
    return (((_ROWS, elements), dtype),)
