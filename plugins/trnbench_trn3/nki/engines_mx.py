"""Instructions on microscaled operands that stay on chip, NeuronCore-v4: products, and making the operands.

Operands and scales lie as `gemm_mx` says; a tile's scales are loaded into the places where products and
`quantize_mx` want them.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_trn3.nki.shapes import SCALE, TYPES
from trnbench_trn3.nki.tiles import (
    QUADRANT,
    hbm_tensor,
    loaded,
    loaded_scales,
    psum_tile,
    sbuf_tile,
    words_of,
)

ROWS = 128
BANKS = 4  # PSUM banks that products go round
SETS = 4  # results that quantising goes round


@nki.jit
def tensor_mx_burst(stationary, moving, stationary_scale, moving_scale, count):
    """`count` products of the same two tiles into four PSUM banks in turn; the last one is returned."""
    m, n = stationary.shape[1], moving.shape[1]
    result = hbm_tensor((m, n), nl.float32)
    left, right = loaded(words_of(stationary)), loaded(words_of(moving))
    left_scale, right_scale = (
        loaded_scales(each, 0, ROWS, 0, each.shape[1]) for each in (stationary_scale, moving_scale)
    )
    banks = [psum_tile((m, n)) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            nisa.nc_matmul_mx(bank, left, right, left_scale, right_scale, accumulate=False)
    for bank in banks[: count % BANKS]:
        nisa.nc_matmul_mx(bank, left, right, left_scale, right_scale, accumulate=False)
    out = sbuf_tile((m, n))
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS], engine=nisa.engine.vector)
    nisa.dma_copy(dst=result, src=out)
    return result


@nki.jit
def quantize_burst(x, count):
    """`count` times the same tile made MXFP8, into four results in turn: words, and their scales."""
    rows, columns = x.shape[0], x.shape[1] // 4
    words = hbm_tensor((rows, columns), nl.float8_e4m3fn_x4)
    scales = hbm_tensor((rows // 8, columns), nl.uint8)
    tile = loaded(x)
    operands = [
        (
            sbuf_tile((rows, columns), nl.float8_e4m3fn_x4),
            sbuf_tile((rows, columns), nl.uint8),
        )
        for _ in range(SETS)
    ]
    for _ in nl.sequential_range(count // SETS):
        for data, scale in operands:
            nisa.quantize_mx(dst=data, src=tile, dst_scale=scale)
    for data, scale in operands[: count % SETS]:
        nisa.quantize_mx(dst=data, src=tile, dst_scale=scale)
    data, scale = operands[(count - 1) % SETS]
    nisa.dma_copy(dst=words, src=data)
    for quadrant in range(rows // QUADRANT):
        at = quadrant * QUADRANT
        nisa.dma_copy(dst=scales[4 * quadrant : 4 * quadrant + 4], src=scale[at : at + 4])
    return words, scales


# For whoever runs them ------------------------------------------------------------------------

_PLAIN = {"bf16": "bfloat16", "fp16": "float16"}


def tensor_mx_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, their scales, and how many."""
    if str(point["dtype"]) not in TYPES:
        return None
    dtype, columns = TYPES[str(point["dtype"])], int(point["columns"])
    tiles = ((ROWS, ROWS), dtype), ((ROWS, columns), dtype)
    return (*tiles, ((ROWS // 8, ROWS), SCALE), ((ROWS // 8, columns), SCALE), int(point["instructions"]))


def quantize_burst_inputs(point):
    """One operand of 128 partitions, and how often it is quantised."""
    shape = (ROWS, int(point["elements"]))
    return (shape, _PLAIN[str(point["dtype"])]), int(point["instructions"])


tensor_mx_burst_reference = "trnbench_trn3.nki.references:tensor_mx_burst"
quantize_burst_reference = "trnbench_trn3.nki.references:quantize_burst"
