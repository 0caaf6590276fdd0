"""What is done element by element: sums of several operands, and the optimiser's update."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import ITEM, pieces_of
from trnbench_kernels.nki.tiles import hbm_tensor, item_of, loaded, sbuf_tile

CHUNK_BYTES = 8192  # of a partition, of each operand
BETA1, BETA2, EPSILON, RATE, DECAY = 0.9, 0.95, 1e-8, 1e-4, 0.1


@nki.jit
def combine(x, operands):
    """x + x + …, `operands` times, each of them read; of a single one its sigmoid linear unit."""
    rows, columns = x.shape
    result = hbm_tensor(x.shape, x.dtype)
    chunk = min(CHUNK_BYTES // item_of(x.dtype), columns)
    for start in nl.affine_range(0, columns, chunk):
        end = min(start + chunk, columns)
        out = sbuf_tile((rows, end - start), x.dtype)
        first = loaded(x[:, start:end])
        if operands == 1:
            nisa.activation(dst=out, op=nl.silu, data=first)
        for number in range(operands - 1):
            other = loaded(x[:, start:end])
            nisa.tensor_tensor(dst=out, data1=out if number else first, data2=other, op=nl.add)
        nisa.dma_copy(dst=result[:, start:end], src=out)
    return result


@nki.jit
def row_maximum(x):
    """The largest of each row of x (tiles, rows, columns): (tiles, rows, 1). A sum of a row takes as long."""
    result = hbm_tensor((*x.shape[:2], 1), x.dtype)
    for tile in nl.affine_range(x.shape[0]):
        held = loaded(x[tile])
        largest = sbuf_tile((x.shape[1], 1), x.dtype)
        nisa.tensor_reduce(dst=largest, op=nl.maximum, data=held, axis=1)
        nisa.dma_copy(dst=result[tile], src=largest)
    return result


@nki.jit
def adam(weights, gradient, moments, master):
    """A step of Adam with decoupled decay: weights (128, columns), two moments (2, 128, columns) and, where
    `master`, a copy of the weights in the moments' type as a third. Returns (weights, moments and copy)."""
    rows, columns = weights.shape
    kept = moments.shape[0]
    result = hbm_tensor(weights.shape, weights.dtype)
    after = hbm_tensor(moments.shape, moments.dtype)
    chunk = min(CHUNK_BYTES // item_of(moments.dtype) // 2, columns)
    for start in nl.affine_range(0, columns, chunk):
        end = min(start + chunk, columns)
        slope = loaded(gradient[:, start:end])
        first, second = loaded(moments[0][:, start:end]), loaded(moments[1][:, start:end])
        own = loaded((moments[kept - 1] if master else weights)[:, start:end])
        shape = (rows, end - start)
        square = sbuf_tile(shape, moments.dtype)
        nisa.activation(dst=square, op=nl.square, data=slope, scale=(1 - BETA2) ** 0.5)
        nisa.tensor_scalar(dst=slope, data=slope, op0=nl.multiply, operand0=1 - BETA1)
        nisa.scalar_tensor_tensor(
            dst=first, data=first, op0=nl.multiply, operand0=BETA1, op1=nl.add, operand1=slope
        )
        nisa.scalar_tensor_tensor(
            dst=second, data=second, op0=nl.multiply, operand0=BETA2, op1=nl.add, operand1=square
        )
        root = sbuf_tile(shape, moments.dtype)
        nisa.activation(dst=root, op=nl.sqrt, data=second)
        nisa.tensor_scalar(dst=root, data=root, op0=nl.add, operand0=EPSILON)
        nisa.reciprocal(dst=root, data=root)
        nisa.scalar_tensor_tensor(
            dst=root, data=root, op0=nl.multiply, operand0=-RATE, op1=nl.multiply, operand1=first
        )
        changed = sbuf_tile(shape, own.dtype)
        nisa.scalar_tensor_tensor(
            dst=changed, data=own, op0=nl.multiply, operand0=1 - RATE * DECAY, op1=nl.add, operand1=root
        )
        nisa.dma_copy(dst=after[0][:, start:end], src=first)
        nisa.dma_copy(dst=after[1][:, start:end], src=second)
        if master:
            nisa.dma_copy(dst=after[2][:, start:end], src=changed)
        nisa.dma_copy(dst=result[:, start:end], src=changed)
    return result, after


# For whoever runs them ------------------------------------------------------------------------


def combine_pieces(inputs):
    """Chunks of columns."""
    ((rows, columns), dtype), operands = inputs
    chunk = CHUNK_BYTES // ITEM[dtype]
    return tuple(((((rows, wide), dtype), operands), times) for wide, times in pieces_of(columns, chunk))


def row_maximum_pieces(inputs):
    """Tile by tile."""
    (((tiles, rows, columns), dtype),) = inputs
    return ((((((1, rows, columns), dtype),)), tiles),)


def adam_pieces(inputs):
    """Chunks of columns."""
    ((rows, columns), dtype), (_, sloped), ((kept, _, _), moved), master = inputs
    chunk = CHUNK_BYTES // ITEM[moved] // 2
    return tuple(
        ((((rows, wide), dtype), ((rows, wide), sloped), ((kept, rows, wide), moved), master), times)
        for wide, times in pieces_of(columns, chunk)
    )


row_maximum_reference = "trnbench_kernels.nki.step_references:row_maximum"
combine_reference = "trnbench_kernels.nki.step_references:combine"
adam_reference = "trnbench_kernels.nki.step_references:adam"
