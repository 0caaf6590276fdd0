"""Instructions of one engine on operands that stay on chip: independent ones, or each on the one before.

A burst issues instructions that do not wait for each other, so that their rate shows, and leaves what it
reads as it is: an exponential of an exponential is soon no number. A chain issues each on the result of the
one before, so that its latency shows. Operands are read once and written back once.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile

_NAMES = {**FLOATS, "tf32": "tfloat32", "fp8": "float8_e4m3"}
ROWS = 128
SETS = 4  # operand sets that a burst goes round
BANKS = 4  # PSUM banks that products go round


@nki.jit
def vector_burst(x, op, count):
    """`count` instructions of the vector engine on four sets of operands in turn."""
    return _burst(x, op, nisa.engine.vector, count)


@nki.jit
def scalar_burst(x, op, count):
    """`count` instructions of the scalar engine on four sets of operands in turn."""
    return _burst(x, op, nisa.engine.scalar, count)


@nki.jit
def gpsimd_burst(x, op, count):
    """`count` instructions of the GpSimd engine on four sets of operands in turn."""
    return _burst(x, op, nisa.engine.gpsimd, count)


@nki.jit
def vector_chain(x, op, count):
    """`count` instructions of the vector engine, each reading what the one before wrote."""
    return _chain(x, op, nisa.engine.vector, count)


@nki.jit
def scalar_chain(x, op, count):
    """`count` instructions of the scalar engine, each reading what the one before wrote."""
    return _chain(x, op, nisa.engine.scalar, count)


@nki.jit
def gpsimd_chain(x, op, count):
    """`count` instructions of the GpSimd engine, each reading what the one before wrote."""
    return _chain(x, op, nisa.engine.gpsimd, count)


@nki.jit
def tensor_burst(stationary, moving, count):
    """`count` products of the same two tiles into four PSUM banks in turn; the last one is returned.

    Tiles are (rows, 1 or 2, columns): two rows of 8-bit floats go through the array at once where the
    generation can do that, else one behind the other.
    """
    _, depth, m = stationary.shape
    n = moving.shape[2]
    result = hbm_tensor((m, n), nl.float32)
    left, right = loaded(stationary), loaded(moving)
    banks = [psum_tile((m, n)) for _ in range(BANKS)]
    for _ in nl.sequential_range(count // BANKS):
        for bank in banks:
            _product(bank, left, right, depth)
    for bank in banks[: count % BANKS]:
        _product(bank, left, right, depth)
    out = sbuf_tile((m, n))
    nisa.tensor_copy(dst=out, src=banks[(count - 1) % BANKS], engine=nisa.engine.vector)
    nisa.dma_copy(dst=result, src=out)
    return result


@nki.jit
def tensor_chain(x, weights, count):
    """`count` products, each of what the one before left: xᵀ · weights, copied out of PSUM at 1/√rows."""
    tile, moving = loaded(x), loaded(weights)
    for _ in nl.sequential_range(count):
        bank = psum_tile(x.shape)
        nisa.nc_matmul(dst=bank, stationary=tile, moving=moving)
        nisa.tensor_scalar(
            dst=tile, data=bank, op0=nl.multiply, operand0=ROWS**-0.5, engine=nisa.engine.vector
        )
    return _returned(tile)


def _product(bank, left, right, depth):
    if depth == 2 and nisa.get_nc_version() >= nisa.nc_version.gen3:
        double = nisa.matmul_perf_mode.double_row
        nisa.nc_matmul(dst=bank, stationary=left, moving=right, accumulate=False, perf_mode=double)
        return
    for row in range(depth):
        nisa.nc_matmul(dst=bank, stationary=left[:, row, :], moving=right[:, row, :], accumulate=row > 0)


def _burst(x, op, engine, count):
    operands = [(loaded(x), _result(x, op)) for _ in range(SETS)]
    for _ in nl.sequential_range(count // SETS):
        for tile, result in operands:
            _one(result, tile, op, engine)
    for tile, result in operands[: count % SETS]:
        _one(result, tile, op, engine)
    return _returned(operands[0][1])


def _chain(x, op, engine, count):
    tile = loaded(x)
    result = _result(x, op) if op == "reduce" else tile
    for _ in nl.sequential_range(count):
        _one(result, tile, op, engine)
    return _returned(result)


def _result(x, op):
    """A column for a reduction, else a tile like x."""
    if op == "reduce":
        return sbuf_tile((x.shape[0], 1))
    return sbuf_tile(x.shape, x.dtype)


def _returned(found):
    result = hbm_tensor(found.shape, found.dtype)
    nisa.dma_copy(dst=result, src=found)
    return result


def _one(result, tile, op, engine):
    """One instruction by the name the sweep gives it, of one operand however many it takes."""
    if op == "copy" and engine == nisa.engine.scalar:
        nisa.activation(dst=result, op=nl.copy, data=tile)  # NeuronCore-v2's Scalar copies by activation only
    elif op == "copy":
        nisa.tensor_copy(dst=result, src=tile, engine=engine)
    elif op == "tensor_scalar":
        nisa.tensor_scalar(
            dst=result, data=tile, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=1.0, engine=engine
        )
    elif op == "tensor_tensor":
        nisa.tensor_tensor(dst=result, data1=tile, data2=tile, op=nl.maximum, engine=engine)
    elif op == "reduce":
        nisa.tensor_reduce(dst=result, op=nl.add, data=tile, axis=1)
    elif op == "reciprocal" and engine == nisa.engine.vector:
        nisa.reciprocal(dst=result, data=tile)
    elif op == "scalar_tensor_tensor":
        nisa.scalar_tensor_tensor(
            dst=result, data=tile, op0=nl.multiply, operand0=0.5, op1=nl.maximum, operand1=tile
        )
    elif op == "scan":
        # Neither factors nor sums that grow with every element: the least so far, and what is there.
        nisa.tensor_tensor_scan(
            dst=result, data0=tile, data1=tile, initial=0.0, op0=nl.minimum, op1=nl.maximum
        )
    elif op == "exp" and engine == nisa.engine.vector:
        nisa.exponential(dst=result, src=tile)  # from NeuronCore-v4 on
    elif op == "iota":
        nisa.iota(dst=result, pattern=[[1, tile.shape[1]]])
    else:
        nisa.activation(dst=result, op=getattr(nl, op), data=tile)


# For whoever runs them ------------------------------------------------------------------------


def vector_burst_inputs(point):
    """One operand of 128 partitions, the instruction's name, and how many of it."""
    shape = (ROWS, int(point["elements"]))
    return ((shape, _NAMES[str(point["dtype"])]), str(point["op"]), int(point["instructions"]))


scalar_burst_inputs = gpsimd_burst_inputs = vector_burst_inputs
vector_chain_inputs = scalar_chain_inputs = gpsimd_chain_inputs = vector_burst_inputs


def tensor_chain_inputs(point):
    """Two square tiles of the whole array, and how many products."""
    dtype = _NAMES[str(point["dtype"])]
    return ((ROWS, ROWS), dtype), ((ROWS, ROWS), dtype), int(point["instructions"])


def tensor_burst_inputs(point):
    """A stationary tile of the whole array, a moving one of so many columns, and how many products."""
    name = str(point["dtype"])
    if name not in _NAMES:
        return None
    depth = 2 if name == "fp8" else 1
    shapes = (ROWS, depth, ROWS), (ROWS, depth, int(point["columns"]))
    return (*((shape, _NAMES[name]) for shape in shapes), int(point["instructions"]))


tensor_burst_reference = "trnbench_kernels.nki.references:tensor_burst"
tensor_chain_reference = "trnbench_kernels.nki.references:tensor_chain"
vector_burst_reference = scalar_burst_reference = gpsimd_burst_reference = (
    "trnbench_neuron.verification:burst"
)
vector_chain_reference = scalar_chain_reference = gpsimd_chain_reference = (
    "trnbench_neuron.verification:chain"
)
