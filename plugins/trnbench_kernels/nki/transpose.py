"""Transposing a matrix in device memory, by the tensor engine, in blocks of rows long enough for DMA."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS, pieces_of
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile, turned_dtype

BLOCK = 1024  # rows and columns turned together: both sides move runs of 2 KiB and more


@nki.jit
def transpose(x):
    """Tiles of 128 × 128 through PSUM; a block's results are gathered before they are stored."""
    rows, columns = x.shape
    result = hbm_tensor((columns, rows), x.dtype)
    tile = nl.tile_size.pmax
    kind = turned_dtype(x.dtype)
    for r0 in nl.affine_range(0, rows, BLOCK):
        r1 = min(r0 + BLOCK, rows)
        for c0 in nl.affine_range(0, columns, BLOCK):
            c1 = min(c0 + BLOCK, columns)
            panels = []
            for r in nl.affine_range(r0, r1, tile):
                panel = loaded(x[r : min(r + tile, r1), c0:c1])
                panels.append(panel)
            for c in nl.affine_range(0, c1 - c0, tile):
                wide = min(c + tile, c1 - c0) - c
                out = sbuf_tile((wide, r1 - r0), x.dtype)
                for index in nl.affine_range(len(panels)):
                    high = panels[index].shape[0]
                    turned = psum_tile((wide, high), kind)
                    nisa.nc_transpose(
                        dst=turned, data=panels[index][:, c : c + wide], engine=nisa.engine.tensor
                    )
                    nisa.tensor_copy(
                        dst=out[:, index * tile : index * tile + high], src=turned, engine=nisa.engine.vector
                    )
                nisa.dma_copy(dst=result[c0 + c : c0 + c + wide, r0:r1], src=out)
    return result


# For whoever runs it --------------------------------------------------------------------------


def transpose_inputs(point):
    """A square matrix, or so many rows of it."""
    size = int(point["size"])
    return (((int(point.get("rows", size)), size), FLOATS[str(point["dtype"])]),)


def transpose_pieces(inputs):
    """Blocks, each turned by itself."""
    ((rows, columns), dtype) = inputs[0]
    return tuple(
        ((((high, wide), dtype),), times * again)
        for high, times in pieces_of(rows, BLOCK)
        for wide, again in pieces_of(columns, BLOCK)
    )


transpose_reference = "trnbench_kernels.nki.references:transpose"
