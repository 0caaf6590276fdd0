"""The selective scan of a state-space model: h = exp(δ·A)·h + δ·u·B, y = Σ C·h over the states."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import hbm_tensor, on_every_partition, sbuf_tile


@nki.jit
def selective_scan(delta, u, a, b, c):
    """δ and u (channels, tokens), A (channels, states), B and C (states, tokens); y as δ.

    δ and u stay on chip for all states; the recurrence is one instruction along the tokens. The vector
    engine has the recurrence and the sums, GpSimd the products, Scalar the exponentials: each works on
    another state, so that none waits for the others.
    """
    channels, tokens = delta.shape
    states = a.shape[1]
    rows = nl.tile_size.pmax
    result = hbm_tensor(delta.shape, delta.dtype)
    for start in nl.affine_range(0, channels, rows):
        # The tiles of the group before end where these begin: both do not have to lie in SBUF together.
        steps = sbuf_tile((rows, tokens), delta.dtype)
        nisa.dma_copy(dst=steps, src=delta[start : start + rows])
        driven = sbuf_tile((rows, tokens), delta.dtype)
        nisa.dma_copy(dst=driven, src=u[start : start + rows])
        rates = sbuf_tile((rows, states))  # as columns of scale are
        nisa.dma_copy(dst=rates, src=a[start : start + rows])
        nisa.tensor_tensor(dst=driven, data1=steps, data2=driven, op=nl.multiply)
        total = nl.zeros((rows, tokens), dtype=delta.dtype)
        decay, inflow, weights = _prepared(steps, driven, rates, b, c, 0)
        for state in nl.sequential_range(states - 1):
            next_decay, next_inflow, next_weights = _prepared(steps, driven, rates, b, c, state + 1)
            _advanced(total, decay, inflow, weights)
            decay, inflow, weights = next_decay, next_inflow, next_weights
        _advanced(total, decay, inflow, weights)
        nisa.dma_copy(dst=result[start : start + rows], src=total)
    return result


def _prepared(steps, driven, rates, b, c, state):
    """exp(δ·A), δ·u·B and C of one state."""
    decay = sbuf_tile(steps.shape, steps.dtype)
    nisa.activation(dst=decay, op=nl.exp, data=steps, scale=rates[:, state : state + 1])
    inflow = sbuf_tile(steps.shape, steps.dtype)
    nisa.tensor_tensor(
        dst=inflow,
        data1=driven,
        data2=on_every_partition(b, state),
        op=nl.multiply,
        engine=nisa.engine.gpsimd,
    )
    return decay, inflow, on_every_partition(c, state)


def _advanced(total, decay, inflow, weights):
    """The recurrence of one state, its share of the result added."""
    nisa.tensor_tensor_scan(dst=decay, data0=decay, data1=inflow, initial=0.0, op0=nl.multiply, op1=nl.add)
    nisa.tensor_tensor(dst=decay, data1=decay, data2=weights, op=nl.multiply, engine=nisa.engine.gpsimd)
    nisa.tensor_tensor(dst=total, data1=total, data2=decay, op=nl.add, engine=nisa.engine.gpsimd)


# For whoever runs it --------------------------------------------------------------------------


def selective_scan_inputs(point):
    """δ, u, A, B and C."""
    channels, tokens, states = (int(point[name]) for name in ("channels", "tokens", "states"))
    dtype = FLOATS[str(point["dtype"])]
    along, across = ((channels, tokens), dtype), ((states, tokens), dtype)
    return (along, along, ((channels, states), dtype), across, across)


selective_scan_reference = "trnbench_kernels.nki.references:selective_scan"
