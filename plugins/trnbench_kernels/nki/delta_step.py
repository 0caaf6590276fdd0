"""The gated delta rule of linear attention for one new token of each state (Yang et al. 2025).

S = γ · S, then S += k · β · (v - kᵀ · S), and o = Sᵀ · q for each token, in each head: keys and queries have
the length 1 (queries also / √width), γ = exp(-rate · softplus(decay + shift)), β = sigmoid(strength).
Features lie on the partitions, as the products before and after have them; the state is fp32.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.tiles import hbm_tensor, identity, loaded_as, multiplied, psum_tile, sbuf_tile

STATES = 256  # of new tokens, whose results fill a bank of PSUM
EPSILON = 1e-12


@nki.jit
def delta_step(q, k, v, gates, rates, states):
    """One token of each state (count, keys, values): q, k (keys, count), v (values, count), gates (2, count):
    decay and strength, rates (2, count): rate and shift. Returns (values, count) and the states behind it."""
    count = states.shape[0]
    result = hbm_tensor(v.shape, v.dtype)
    after = hbm_tensor(states.shape, nl.float32)
    for first in nl.affine_range(0, count, STATES):
        last = min(first + STATES, count)
        given = (each[:, first:last] for each in (q, k, v, gates, rates))
        out = _stepped(*given, states[first:last], after[first:last])
        nisa.dma_copy(dst=result[:, first:last], src=out)
    return result, after


def _stepped(q, k, v, gates, rates, states, after):
    count, keys, values = states.shape
    high = max(keys, values)
    fade, strength = _spread(gates, rates, high)
    query, key, value = (loaded_as(each, nl.float32) for each in (q, k, v))
    everywhere = nl.full((high, high), 1.0, dtype=nl.float32)
    _shortened(query, everywhere, keys**-0.5)
    _shortened(key, everywhere, 1.0)
    out = psum_tile((values, count))
    for number in nl.affine_range(count):
        state = sbuf_tile((keys, values))
        nisa.dma_copy(dst=state, src=states[number])
        nisa.tensor_scalar(dst=state, data=state, op0=nl.multiply, operand0=fade[:keys, number : number + 1])
        known = multiplied(state, key[:, number : number + 1])
        new = sbuf_tile((values, 1))
        nisa.tensor_tensor(dst=new, data1=value[:, number : number + 1], data2=known, op=nl.subtract)
        nisa.tensor_tensor(dst=new, data1=new, data2=strength[:values, number : number + 1], op=nl.multiply)
        # The values as a row on every partition: a diagonal matrix, added up over its rows.
        diagonal = sbuf_tile((values, values))
        nisa.tensor_scalar(dst=diagonal, data=identity(values), op0=nl.multiply, operand0=new)
        nisa.scalar_tensor_tensor(
            dst=state,
            data=multiplied(everywhere[:values, :keys], diagonal),
            op0=nl.multiply,
            operand0=key[:, number : number + 1],
            op1=nl.add,
            operand1=state,
        )
        nisa.nc_matmul(
            dst=out[:, number : number + 1], stationary=state, moving=query[:, number : number + 1]
        )
        nisa.dma_copy(dst=after[number], src=state, engine=nisa.engine.scalar)
    ready = sbuf_tile((values, count), v.dtype)
    nisa.tensor_copy(dst=ready, src=out, engine=nisa.engine.vector)
    return ready


def _spread(gates, rates, high):
    """γ and β of every state on all partitions."""
    count = gates.shape[1]
    row = nl.full((1, high), 1.0, dtype=nl.float32)
    decay, rate = loaded_as(gates[0:1], nl.float32), loaded_as(rates[0:1], nl.float32)
    shift = loaded_as(rates[1:2], nl.float32)
    nisa.tensor_tensor(dst=decay, data1=decay, data2=shift, op=nl.add)
    nisa.activation(dst=decay, op=nl.softplus, data=decay)
    nisa.tensor_tensor(dst=decay, data1=decay, data2=rate, op=nl.multiply)
    fade = sbuf_tile((high, count))
    nisa.activation(dst=fade, op=nl.exp, data=multiplied(row, decay), scale=-1.0)
    strength = sbuf_tile((high, count))
    given = loaded_as(gates[1:2], nl.float32)
    nisa.activation(dst=strength, op=nl.sigmoid, data=multiplied(row, given))
    return fade, strength


def _shortened(tile, ones, scale):
    """To the length `scale`, features on the partitions."""
    keys = tile.shape[0]
    squares = sbuf_tile(tile.shape)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    by = sbuf_tile(tile.shape)
    little, sums = nl.full((keys, 1), EPSILON, dtype=nl.float32), multiplied(ones[:keys, :keys], squares)
    nisa.activation(dst=by, op=nl.rsqrt, data=sums, scale=scale**-2, bias=little)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=by, op=nl.multiply)


# For whoever runs it --------------------------------------------------------------------------

delta_step_reference = "trnbench_kernels.nki.step_references:delta_step"
