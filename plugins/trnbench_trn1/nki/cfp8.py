"""Products of 8-bit floats on operands that stay on chip."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
BANKS = 4  # PSUM banks that products go round


@nki.jit
def cfp8_burst(stationary, moving, count):
    """`count` products of the same two tiles into four banks in turn; the last one is returned."""
    m, n = stationary.shape[1], moving.shape[1]
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left, right = _held(stationary), _held(moving)
    banks = [nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False)
    for bank in banks[: count % BANKS]:
        nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False)
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS])
    nisa.dma_copy(dst=result, src=out)
    return result


def _held(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


# For whoever runs it --------------------------------------------------------------------------


def cfp8_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, and how many products."""
    shapes = (ROWS, ROWS), (ROWS, int(point["columns"]))
    return (*((shape, "float8_e4m3") for shape in shapes), int(point["instructions"]))


def cfp8_burst_reference(stationary, moving, count):  # noqa: ARG001
    """stationaryᵀ · moving, however often."""
    return stationary.T @ moving
