"""Kernels of Beta 1: programs of a grid, masks at the edges, a load that turns, blocks of a product."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_parts(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * 128 + nl.arange(128)[:, None]
    column = nl.program_id(1) * 512 + nl.arange(512)[None, :]
    left = nl.load(a[row, column])
    right = nl.load(b[row, column])
    nl.store(out[row, column], left + right)
    return out


@nki.jit
def rows_of_unit_length(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows, columns = a.shape
    row = nl.arange(128)[:, None]
    column = nl.arange(columns)[None, :]
    for start in nl.affine_range((rows + 127) // 128):
        inside = (start * 128 + row < rows) & (column < columns)
        tile = nl.load(a[start * 128 + row, column], mask=inside)
        length = nl.rsqrt(nl.sum(nl.square(tile), axis=1, keepdims=True))
        scaled = tile * length
        nl.store(out[start * 128 + row, column], scaled, mask=inside)
    return out


@nki.jit
def turned_and_squashed(a):
    columns, rows = a.shape
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(rows // 100):
        tile = nl.load_transpose2d(a[0:columns, start * 100 : start * 100 + 100])
        squashed = nl.silu(tile) + nl.tanh(tile) * 0.5
        nl.store(out[start * 100 : start * 100 + 100, 0:columns], squashed)
    return out


@nki.jit
def blocks(a, b):
    depth, height = a.shape
    width = b.shape[1]
    out = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in nl.affine_range(height // 128):
        total = nl.zeros((128, width), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(depth // 128):
            left = nl.load(a[k * 128 : k * 128 + 128, row * 128 : row * 128 + 128])
            right = nl.load(b[k * 128 : k * 128 + 128, 0:width])
            total[...] += nl.matmul(left, right, transpose_x=True)
        nl.store(out[row * 128 : row * 128 + 128, 0:width], nl.copy(total))
    return out
