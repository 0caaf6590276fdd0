"""Exponentials on operands that stay on chip, by one engine or the other."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
SETS = 4  # operands and results that a burst goes round
_NAMES = {"fp32": "float32", "bf16": "bfloat16"}


@nki.jit
def exponential(x, engine, count):
    """exp(x), `count` times, from four copies of the operand in turn; the last result is returned."""
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    pairs = [_pair(x) for _ in range(SETS)]
    for _ in nl.sequential_range(count // SETS):
        for source, target in pairs:
            _one(target, source, engine)
    for source, target in pairs[: count % SETS]:
        _one(target, source, engine)
    nisa.dma_copy(dst=result, src=pairs[(count - 1) % SETS][1])
    return result


def _pair(x):
    source = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=source, src=x)
    return source, nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)


def _one(target, source, engine):
    if engine == "vector":
        nisa.exponential(dst=target, src=source)
    else:
        nisa.activation(dst=target, op=nl.exp, data=source)


# For whoever runs it --------------------------------------------------------------------------


def exponential_inputs(point):
    """One operand of 128 partitions, the engine, and how many instructions."""
    shape = (ROWS, int(point["elements"]))
    return (shape, _NAMES[str(point["dtype"])]), str(point["engine"]), int(point["instructions"])


def exponential_reference(x, engine, count):  # noqa: ARG001
    """exp(x), whoever computes it and however often."""
    import numpy as np

    return np.exp(x)
