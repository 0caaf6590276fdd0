"""Products of 8-bit floats on operands that stay on chip, one or two rows of the contraction at a time."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
BANKS = 4  # PSUM banks that products go round


@nki.jit
def row_burst(stationary, moving, count):
    """`count` products of the same two tiles; tiles are (128, 2, columns) for double rows."""
    m, n = stationary.shape[-1], moving.shape[-1]
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left, right = _held(stationary), _held(moving)
    banks = [nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            _product(bank, left, right)
    for bank in banks[: count % BANKS]:
        _product(bank, left, right)
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS])
    nisa.dma_copy(dst=result, src=out)
    return result


def _held(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def _product(bank, left, right):
    if len(left.shape) == 3:
        mode = nisa.matmul_perf_mode.double_row
        nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False, perf_mode=mode)
    else:
        nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False)


# For whoever runs it --------------------------------------------------------------------------


def row_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, and how many products."""
    depth = (2,) if point["rows"] == "double" else ()
    shapes = (ROWS, *depth, ROWS), (ROWS, *depth, int(point["columns"]))
    return (*((shape, "float8_e4m3") for shape in shapes), int(point["instructions"]))


def row_burst_reference(stationary, moving, count):  # noqa: ARG001
    """stationaryᵀ · moving over all rows, however often."""
    left, right = (each.reshape(-1, each.shape[-1]) for each in (stationary, moving))
    return left.T @ right
