"""Row-wise kernels in a user's style: softmax, a tensor addition, a transpose."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def softmax_rows(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    for start in nl.affine_range(0, rows, nl.tile_size.pmax):
        size = min(nl.tile_size.pmax, rows - start)
        tile = nl.load(x[nl.ds(start, size), :], dtype=nl.float32)
        top = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(top, nl.maximum, tile, axis=1, negate=True)
        grown = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(grown, op=nl.exp, data=tile, bias=top)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(total, nl.add, grown, axis=1)
        share = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(share, total)
        scaled = nl.ndarray((size, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(scaled, grown, nl.multiply, share)
        nl.store(out[nl.ds(start, size), :], scaled)
    return out


@nki.jit
def add(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), nl.load(y)))
    return out


@nki.jit
def transpose(x):
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 128):
            tile = nl.load(x[nl.ds(128 * r, 128), nl.ds(128 * c, 128)])
            turned = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(turned, tile)
            back = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(back, turned)
            nl.store(out[nl.ds(128 * c, 128), nl.ds(128 * r, 128)], back)
    return out
