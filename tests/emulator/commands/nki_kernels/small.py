"""Kernels in a user's style, small enough to run in every test."""

import nki.isa as nisa
import nki.language as nl
import numpy as np

import nki


@nki.jit
def scaled(x, factor=2.0):
    """factor · x, tile by tile."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(0, rows, nl.tile_size.pmax):
        size = min(nl.tile_size.pmax, rows - start)
        tile = nl.load(x[nl.ds(start, size), :])
        done = nl.ndarray((size, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(done, tile, nl.multiply, factor)
        nl.store(out[nl.ds(start, size), :], done)
    return out


def reference(x, factor=2.0):
    return x * factor


def mistaken(x, factor=2.0):
    wrong = x * factor
    wrong[3, 5] += 100
    return wrong


def transposed(x, factor=2.0):
    return (x * factor).T


def broken_reference(x, factor=2.0):
    return np.linalg.inv(x, factor)


@nki.jit
def matmul(lhs_t, rhs):
    """lhs_tᵀ · rhs of one tile."""
    _, m = lhs_t.shape
    _, n = rhs.shape
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    left, right = nl.load(lhs_t), nl.load(rhs)
    acc = nl.zeros((m, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(acc, left, right)
    done = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(done, acc)
    nl.store(out, done)
    return out
