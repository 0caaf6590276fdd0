"""Tiles of 100 rows over 128: the last load goes over the end (Beta 1)."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for step in nl.affine_range(2):
        rows = step * 100 + nl.arange(100)[:, None]
        columns = nl.arange(512)[None, :]
        tile = nl.load(a[rows, columns])
        nl.store(out[rows, columns], value=tile, mask=(rows < 128))
    return out
