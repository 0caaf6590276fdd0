"""Instructions of the vector engine on operands that a performance mode takes, or does not."""

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
    source = _tile(x, apart)
    nisa.dma_copy(dst=source, src=x)
    other = _tile(x, apart) if op == "tensor_tensor" else None
    if other is not None:
        nisa.dma_copy(dst=other, src=x)
    if operands == "psum":
        # The scalar engine takes it there: the vector engine's instructions are what is counted.
        held = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.psum)
        nisa.activation(dst=held, op=nl.copy, data=source)
        source = held
    return _tile(x, apart), source, other


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
