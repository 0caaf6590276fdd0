"""Products of fp32, by the array or by bf16 halves, and of 8-bit floats, on operands that stay on chip."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
BANKS = 4  # PSUM banks that products go round


@nki.jit
def fp32_burst(stationary, moving, by, count):
    """`count` products of the same two tiles into four banks in turn; the last one is returned."""
    left, right = _held(stationary), _held(moving)
    return _burst([(left, right)] if by == "array" else _halves(left, right), count)


@nki.jit
def cfp8_burst(stationary, moving, count):
    """`count` products of the same two tiles into four banks in turn; the last one is returned."""
    return _burst([(_held(stationary), _held(moving))], count)


def _burst(pairs, count):
    """Each product is the sum of those of all pairs."""
    m, n = pairs[0][0].shape[1], pairs[0][1].shape[1]
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    banks = [nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            _product(bank, pairs)
    for bank in banks[: count % BANKS]:
        _product(bank, pairs)
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS], engine=nisa.engine.vector)
    nisa.dma_copy(dst=result, src=out)
    return result


def _product(bank, pairs):
    for number, (left, right) in enumerate(pairs):
        nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=number > 0)


def _halves(left, right):
    """Upper by upper, upper by lower and lower by upper; lower by lower is below fp32's own rounding."""
    (left_upper, left_lower), (right_upper, right_lower) = _split(left), _split(right)
    return [(left_upper, right_upper), (left_upper, right_lower), (left_lower, right_upper)]


def _split(tile):
    """A tile as the sum of two of bf16: what it rounds to, and what that leaves."""
    upper = nl.ndarray(tile.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    lower = nl.ndarray(tile.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=upper, src=tile, engine=nisa.engine.vector)
    nisa.tensor_tensor(dst=lower, data1=tile, data2=upper, op=nl.subtract)
    return upper, lower


def _held(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


# For whoever runs them -------------------------------------------------------------------------


def fp32_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, by what, and how many."""
    shapes = (ROWS, ROWS), (ROWS, int(point["columns"]))
    return (*((shape, "float32") for shape in shapes), str(point["by"]), int(point["products"]))


def fp32_burst_reference(stationary, moving, by, count):  # noqa: ARG001
    """stationaryᵀ · moving, whoever multiplies and however often."""
    return stationary.T @ moving


def cfp8_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, and how many products."""
    shapes = (ROWS, ROWS), (ROWS, int(point["columns"]))
    return (*((shape, "float8_e4m3") for shape in shapes), int(point["instructions"]))


def cfp8_burst_reference(stationary, moving, count):  # noqa: ARG001
    """stationaryᵀ · moving, however often."""
    return stationary.T @ moving
