"""One instruction or one transfer many times, to read the time of a single one from its trace.

Unlike the sweeps of `engines` and `streams` they say where every operand is, and nothing waits for
anything but its engine.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile


@nki.jit
def matmuls(stationary, moving, count):
    """`count` products of two tiles in SBUF, added up in one bank of PSUM."""
    left, right = loaded(stationary), loaded(moving)
    total = psum_tile((stationary.shape[1], moving.shape[1]))
    for _ in nl.sequential_range(count):
        nisa.nc_matmul(dst=total, stationary=left, moving=right)
    return _stored(total)


@nki.jit
def instructions(like, op, engine, source, count):
    """`count` instructions of `engine` that read `source` ("sbuf" or "psum") and write SBUF."""
    which = getattr(nisa.engine, engine)
    buffer = nl.psum if source == "psum" else nl.sbuf
    data = nl.ndarray(like.shape, dtype=like.dtype, buffer=buffer)
    nisa.memset(dst=data, value=1.0, engine=nisa.engine.vector)
    result = sbuf_tile(like.shape, like.dtype)
    for _ in nl.sequential_range(count):
        if op == "copy":
            nisa.tensor_copy(dst=result, src=data, engine=which)
        elif op == "tensor_scalar":
            nisa.tensor_scalar(dst=result, data=data, op0=nl.multiply, operand0=2.0, engine=which)
        elif op == "sum":
            nisa.tensor_reduce(dst=result[0:128, 0:1], op=nl.add, data=data, axis=1)
        elif op == "reciprocal":
            nisa.reciprocal(dst=result, data=data)
        else:
            nisa.activation(dst=result, op=getattr(nl, op), data=data)
    return _stored(result)


@nki.jit
def transfers(source, run):
    """(count, partitions, runs, bytes): so many loads, each of the first `run` bytes of every row's runs."""
    count, rows, runs, _ = source.shape
    for at in nl.affine_range(count):
        tile = sbuf_tile((rows, runs, run), source.dtype)
        nisa.dma_copy(dst=tile, src=source[at, :, :, 0:run])
    return source


def _stored(tile):
    result = hbm_tensor(tile.shape, tile.dtype)
    if tile.buffer == nl.psum:
        copied = sbuf_tile(tile.shape, tile.dtype)
        nisa.tensor_copy(dst=copied, src=tile, engine=nisa.engine.vector)
        tile = copied
    nisa.dma_copy(dst=result, src=tile)
    return result
