"""Instructions of Vector in a performance mode or not, and products of 8-bit floats by rows, on chip."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
SETS = 4  # operands and results that a burst goes round
_NAMES = {"fp32": "float32", "bf16": "bfloat16"}


@nki.jit
def mode_burst(x, op, operands, count):
    """`count` instructions on four sets in turn, none waiting for another; one set's result is returned."""
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sets = [_set(x, op, operands) for _ in range(SETS)]
    for _ in nl.sequential_range(count // SETS):
        for each in sets:
            _one(op, *each)
    for each in sets[: count % SETS]:
        _one(op, *each)
    nisa.dma_copy(dst=result, src=sets[0][0])
    return result


def _set(x, op, operands):
    """Result, operand, and the second operand of an instruction that has two."""
    apart = operands == "strided"
    source = _loaded(x, apart)
    other = _loaded(x, apart) if op == "tensor_tensor" else None
    if operands == "psum":
        # The scalar engine takes it there: the vector engine's instructions are what is counted.
        held = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.psum)
        nisa.activation(dst=held, op=nl.copy, data=source)
        source = held
    return _tile(x, apart), source, other


def _loaded(x, apart):
    tile = _tile(x, apart)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def _tile(x, apart):
    """A tile in SBUF like x; `apart`, with a gap as wide as an element behind each."""
    if not apart:
        return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    return nl.ndarray((*x.shape, 2), dtype=x.dtype, buffer=nl.sbuf)[:, :, 0]


def _one(op, result, source, other):
    if op == "tensor_copy":
        nisa.tensor_copy(dst=result, src=source, engine=nisa.engine.vector)
    elif op == "tensor_scalar":
        nisa.tensor_scalar(
            dst=result,
            data=source,
            op0=nl.multiply,
            operand0=0.5,
            op1=nl.add,
            operand1=1.0,
            engine=nisa.engine.vector,
        )
    else:
        nisa.tensor_tensor(dst=result, data1=source, data2=other, op=nl.add, engine=nisa.engine.vector)


# For whoever runs it --------------------------------------------------------------------------


def mode_burst_inputs(point):
    """One operand of 128 partitions, the instruction, where its operands lie, and how many of it."""
    shape = (ROWS, int(point["elements"]))
    operand = (shape, _NAMES[str(point["dtype"])])
    return operand, str(point["op"]), str(point["operands"]), int(point["instructions"])


def mode_burst_reference(x, op, operands, count):  # noqa: ARG001
    """What one instruction leaves, wherever its operands lie."""
    return {"tensor_copy": x, "tensor_scalar": x * 0.5 + 1, "tensor_tensor": x + x}[op]


BANKS = 4  # PSUM banks that products go round


@nki.jit
def row_burst(stationary, moving, count):
    """`count` products of the same two tiles; tiles are (128, 2, columns) for double rows."""
    m, n = stationary.shape[-1], moving.shape[-1]
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left, right = _loaded(stationary, False), _loaded(moving, False)
    banks = [nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            _product(bank, left, right)
    for bank in banks[: count % BANKS]:
        _product(bank, left, right)
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS], engine=nisa.engine.vector)
    nisa.dma_copy(dst=result, src=out)
    return result


def _product(bank, left, right):
    mode = nisa.matmul_perf_mode.double_row if len(left.shape) == 3 else nisa.matmul_perf_mode.none
    nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False, perf_mode=mode)


# For whoever runs it --------------------------------------------------------------------------


def row_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, and how many products."""
    depth = (2,) if point["rows"] == "double" else ()
    shapes = (ROWS, *depth, ROWS), (ROWS, *depth, int(point["columns"]))
    return (*((shape, "float8_e4m3") for shape in shapes), int(point["instructions"]))


def row_burst_reference(stationary, moving, count):  # noqa: ARG001
    """stationaryᵀ · moving over all rows, however often."""
    left, right = (each.reshape(-1, each.shape[-1]) for each in (stationary, moving))
    return left.T @ right
