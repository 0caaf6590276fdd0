"""Instructions of one engine on operands that stay in SBUF: independent ones, or each on the one before.

`chain` issues an instruction on its own result, so that its latency shows; `burst` issues instructions
that do not wait for each other, so that their rate shows.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

_ENGINES = {"vector": nisa.engine.vector, "scalar": nisa.engine.scalar, "gpsimd": nisa.engine.gpsimd}
SETS = 4  # operand sets that a burst goes round


@nki.jit
def burst(x, op, engine, count):
    """`count` instructions on four sets of operands in turn."""
    return _issue(x, op, engine, count, SETS)


@nki.jit
def chain(x, op, engine, count):
    """`count` instructions, each reading what the one before wrote."""
    return _issue(x, op, engine, count, 1)


def _issue(x, op, engine, count, sets):
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    operands = []
    for _ in nl.affine_range(sets):
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        operands.append((tile, nl.zeros((x.shape[0], 1), dtype=nl.float32)))
    for at in nl.sequential_range(count):
        tile, column = operands[at % sets]
        _one(tile, column, op, _ENGINES[engine])
    nisa.dma_copy(dst=result, src=operands[0][0])
    return result


def _one(tile, column, op, engine):
    """One instruction by the name the sweep gives it, in place."""
    if op == "copy" and engine == nisa.engine.scalar:
        nisa.activation(dst=tile, op=nl.copy, data=tile)  # NeuronCore-v2's Scalar copies by activation only
    elif op == "copy":
        nisa.tensor_copy(dst=tile, src=tile, engine=engine)
    elif op == "tensor_scalar":
        nisa.tensor_scalar(
            dst=tile, data=tile, op0=nl.multiply, operand0=1.0, op1=nl.add, operand1=0.0, engine=engine
        )
    elif op == "tensor_tensor":
        nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.maximum, engine=engine)
    elif op == "reduce":
        nisa.tensor_reduce(dst=column, op=nl.add, data=tile, axis=1)
    elif op == "reciprocal":
        nisa.reciprocal(dst=tile, data=tile)
    else:
        nisa.activation(dst=tile, op=getattr(nl, op), data=tile)
