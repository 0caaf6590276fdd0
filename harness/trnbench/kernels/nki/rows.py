"""Normalisations over rows, 128 rows at a time: softmax, layer norm, RMS norm."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

EPSILON = 1e-5
_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


@nki.jit
def softmax(x):
    """exp(x - max) / sum, with the sum taken while the exponentials are computed."""
    rows, columns = x.shape
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(0, rows, nl.tile_size.pmax):
        end = min(start + nl.tile_size.pmax, rows)
        tile = _load(x, start, end)
        top = nl.ndarray((end - start, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((end - start, 1), dtype=nl.float32, buffer=nl.sbuf)
        grown = nl.ndarray((end - start, columns), dtype=nl.float32, buffer=nl.sbuf)
        out = nl.ndarray((end - start, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1, negate=True)
        nisa.activation_reduce(dst=grown, op=nl.exp, data=tile, bias=top, reduce_op=nl.add, reduce_res=total)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=out, data=grown, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=result[start:end], src=out)
    return result


@nki.jit
def layer_norm(x, gamma, beta):
    """(x - mean) / sqrt(variance + ε) · gamma + beta, statistics by bn_stats."""
    rows, columns = x.shape
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scale, shift = _spread(gamma), _spread(beta)
    epsilon = nl.full((nl.tile_size.pmax, 1), EPSILON, dtype=nl.float32)
    chunk = nl.tile_size.bn_stats_fmax
    for start in nl.affine_range(0, rows, nl.tile_size.pmax):
        end = min(start + nl.tile_size.pmax, rows)
        size = end - start
        tile = _load(x, start, end)
        parts = (columns + chunk - 1) // chunk
        stats = nl.ndarray((size, 6 * parts), dtype=nl.float32, buffer=nl.sbuf)
        for part in nl.affine_range(parts):
            last = min((part + 1) * chunk, columns)
            nisa.bn_stats(dst=stats[:, 6 * part : 6 * part + 6], data=tile[:, part * chunk : last])
        moments = nl.ndarray((size, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments, data=stats)
        spread = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=spread, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon[0:size])
        out = nl.ndarray((size, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=out, data=tile, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=spread
        )
        nisa.tensor_tensor(dst=out, data1=out, data2=scale[0:size], op=nl.multiply)
        nisa.tensor_tensor(dst=out, data1=out, data2=shift[0:size], op=nl.add)
        nisa.dma_copy(dst=result[start:end], src=out)
    return result


@nki.jit
def rms_norm(x, gamma):
    """x / sqrt(mean of squares + ε) · gamma."""
    rows, columns = x.shape
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scale = _spread(gamma)
    epsilon = nl.full((nl.tile_size.pmax, 1), EPSILON, dtype=nl.float32)
    for start in nl.affine_range(0, rows, nl.tile_size.pmax):
        end = min(start + nl.tile_size.pmax, rows)
        size = end - start
        tile = _load(x, start, end)
        squares = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
        nisa.activation(dst=total, op=nl.rsqrt, data=total, scale=1.0 / columns, bias=epsilon[0:size])
        out = nl.ndarray((size, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=out, data=tile, op0=nl.multiply, operand0=total, op1=nl.multiply, operand1=scale[0:size]
        )
        nisa.dma_copy(dst=result[start:end], src=out)
    return result


def _load(source, start, end):
    tile = nl.ndarray((end - start, source.shape[1]), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[start:end])
    return tile


def _spread(weights):
    """One row of weights on every partition: read once, then copied on chip."""
    return nl.broadcast_to(_load(weights, 0, 1), (nl.tile_size.pmax, weights.shape[1]))


# For whoever runs them ------------------------------------------------------------------------


def softmax_inputs(point):
    """The rows."""
    return (((int(point["rows"]), int(point["columns"])), _NAMES[str(point["dtype"])]),)


def rms_norm_inputs(point):
    """The rows and one vector of weights."""
    (x,) = softmax_inputs(point)
    return (x, ((1, x[0][1]), x[1]))


def layer_norm_inputs(point):
    """The rows and two vectors of weights."""
    x, weights = rms_norm_inputs(point)
    return (x, weights, weights)
