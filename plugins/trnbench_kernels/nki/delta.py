"""The gated delta rule of linear attention over a prompt, chunk by chunk (Yang et al. 2025).

S = γ · S, then S += k · β · (v - kᵀ · S), and o = Sᵀ · q for each token, in each head: keys and queries have
the length 1 (queries also / √width), γ = exp(-rate · softplus(decay + shift)), β = sigmoid(strength).
Features lie on the partitions, as the products before and after have them; the state is fp32.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import pieces_of
from trnbench_kernels.nki.tiles import hbm_tensor, identity, loaded_as, multiplied, psum_tile, sbuf_tile

CHUNK = 128  # tokens that are solved for together
TOGETHER = 4  # heads whose chunks are worked on side by side
HIDDEN = 30000.0  # its exponential with a minus is 0
EPSILON = 1e-12


@nki.jit
def delta_prompt(q, k, v, gates, rates):
    """A prompt, chunk by chunk: q, k (heads, keys, tokens), v (heads, values, tokens), gates (2, heads,
    tokens): decay and strength; rates (heads, 2): rate and shift. Returns (heads, values, tokens) and the
    states.

    Of a chunk of tokens (I + A) · u = β · (v - γ · k · S) is solved with the inverse of I + A, a product of
    powers: A is strictly lower triangular.
    """
    heads, keys, tokens = q.shape
    values = v.shape[1]
    result = hbm_tensor(v.shape, v.dtype)
    states = hbm_tensor((heads, keys, values), nl.float32)
    ones = nl.full((keys, 1), 1.0, dtype=nl.float32)
    for first in nl.affine_range(0, heads, TOGETHER):
        group = range(first, min(first + TOGETHER, heads))
        held = [nl.zeros((keys, values), dtype=nl.float32) for _ in group]
        for start in nl.sequential_range(0, tokens, CHUNK):
            end = min(start + CHUNK, tokens)
            summed, strength = _gates(gates, rates, first, len(group), start, end)
            chunks = [_Chunk(q[h], k[h], v[h], start, end, ones) for h in group]
            for number in range(len(group)):
                chunks[number].decayed(summed, strength, number)
            inverses = _inverses([chunk.mixed() for chunk in chunks])
            for number in range(len(group)):
                state, out = chunks[number].advanced(held[number], inverses[number])
                held[number] = state
                nisa.dma_copy(dst=result[first + number][:, start:end], src=out)
        for number in range(len(group)):
            nisa.dma_copy(dst=states[first + number], src=held[number], engine=nisa.engine.scalar)
    return result, states


class _Chunk:
    """Of one head: kᵀ with the length 1, tokens on the partitions in `rows`, qᵀ and v."""

    def __init__(self, q, k, v, start, end, ones):
        self.q, self.v = _cut(q, start, end), _turned(_cut(v, start, end))
        raw = _cut(k, start, end)
        self.by_query = _length(self.q, ones, q.shape[0] ** -0.5)
        self.rows = _turned(raw)
        nisa.tensor_scalar(dst=self.rows, data=self.rows, op0=nl.multiply, operand0=_length(raw, ones, 1.0))
        self.k = _turned(self.rows)

    def decayed(self, summed, strength, head):
        """Decays between its tokens: exp(of the later - of the earlier), 0 where that is not yet there."""
        own = nl.zeros((summed.shape[0], nl.tile_size.pmax), dtype=nl.float32)
        nisa.affine_select(
            dst=own,
            pattern=[[0, nl.tile_size.pmax]],
            channel_multiplier=1,
            offset=-head,
            on_true_tile=nl.full(own.shape, 1.0, dtype=nl.float32),
            on_false_value=0.0,
            cmp_op=nl.equal,
        )
        self.along = _kept(multiplied(own, summed))
        self.across = _kept(_turned(summed)[:, head : head + 1])
        self.strength = _kept(_turned(strength)[:, head : head + 1])

    def _between(self, *, later_down):
        count = self.across.shape[0]
        sign = -1.0 if later_down else 1.0
        pattern, step = ([[-1, count]], 1) if later_down else ([[1, count]], -1)
        shown = sbuf_tile((count, count))
        nisa.affine_select(
            dst=shown,
            pattern=pattern,
            channel_multiplier=step,
            on_true_tile=self.along[:count],
            on_false_value=-sign * HIDDEN,
            cmp_op=nl.greater_equal,
        )
        against = self.across
        if not later_down:
            against = sbuf_tile(self.across.shape)
            nisa.tensor_scalar(dst=against, data=self.across, op0=nl.multiply, operand0=-1.0)
        nisa.activation(dst=shown, op=nl.exp, data=shown, scale=sign, bias=against)
        return shown

    def mixed(self):
        """-A: -β · (k · kᵀ) · decay, what is not strictly below the diagonal left out."""
        count = self.across.shape[0]
        bank = multiplied(self.k, self.k)
        negative = sbuf_tile((count, 1))
        nisa.tensor_scalar(dst=negative, data=self.strength, op0=nl.multiply, operand0=-1.0)
        found = sbuf_tile((count, count))
        nisa.scalar_tensor_tensor(
            dst=found,
            data=bank,
            op0=nl.multiply,
            operand0=negative,
            op1=nl.multiply,
            operand1=self._between(later_down=True),
        )
        nisa.affine_select(
            dst=found,
            pattern=[[-1, count]],
            channel_multiplier=1,
            on_true_tile=found,
            on_false_value=0.0,
            cmp_op=nl.greater,
        )
        return found

    def advanced(self, state, inverse):
        """The state behind the chunk, and its results (values, tokens)."""
        (keys, values), count = state.shape, self.across.shape[0]
        fade = sbuf_tile((count, 1))
        nisa.activation(dst=fade, op=nl.exp, data=self.across)
        known = multiplied(self.k, state)
        wanted = sbuf_tile((count, values))
        nisa.scalar_tensor_tensor(
            dst=wanted, data=known, op0=nl.multiply, operand0=fade, op1=nl.subtract, operand1=self.v
        )
        nisa.tensor_scalar(
            dst=wanted, data=wanted, op0=nl.multiply, operand0=self.strength, op1=nl.multiply, operand1=-1.0
        )
        new = _kept(multiplied(inverse, wanted))
        # What the queries find in the state, and in the chunk.
        faded = sbuf_tile((keys, count))
        nisa.activation(dst=faded, op=nl.exp, data=self.along[:keys])
        nisa.tensor_tensor(dst=faded, data1=faded, data2=self.q, op=nl.multiply)
        scores = multiplied(self.k, self.q)
        seen = self._between(later_down=False)
        nisa.tensor_tensor(dst=seen, data1=scores, data2=seen, op=nl.multiply)
        bank = psum_tile((count, values))
        nisa.nc_matmul(dst=bank, stationary=faded, moving=state)
        nisa.nc_matmul(dst=bank, stationary=seen, moving=new)
        out = sbuf_tile((count, values))
        nisa.tensor_scalar(dst=out, data=bank, op0=nl.multiply, operand0=self.by_query)
        # The state fades by the whole chunk, what each token adds by those behind it.
        last = self.along[:, count - 1 : count]
        left = sbuf_tile((count, 1))
        nisa.activation(dst=left, op=nl.exp, data=self.across, scale=-1.0, bias=last[:count])
        nisa.tensor_scalar(dst=self.rows, data=self.rows, op0=nl.multiply, operand0=left)
        whole = sbuf_tile((keys, 1))
        nisa.activation(dst=whole, op=nl.exp, data=last[:keys])
        after = sbuf_tile((keys, values))
        nisa.scalar_tensor_tensor(
            dst=after,
            data=state,
            op0=nl.multiply,
            operand0=whole,
            op1=nl.add,
            operand1=multiplied(self.rows, new),
        )
        return after, _turned(out)


def _inverses(matrices):
    """(I - N)⁻¹ of each, transposed: (I + N)(I + N²)(I + N⁴) …, N having no power as high as its tokens."""
    count = matrices[0].shape[0]
    turned = [_turned(matrix) for matrix in matrices]
    found = []
    for each in turned:
        whole = sbuf_tile((count, count))
        nisa.tensor_tensor(dst=whole, data1=each, data2=identity(count), op=nl.add)
        found.append(whole)
    power = 2
    while power < count:
        squares = [_kept(multiplied(t, m)) for m, t in zip(matrices, turned, strict=True)]
        turned = [_kept(multiplied(m, t)) for m, t in zip(matrices, turned, strict=True)]
        matrices = squares
        for number in range(len(found)):
            more = multiplied(matrices[number], found[number])
            nisa.tensor_tensor(dst=found[number], data1=found[number], data2=more, op=nl.add)
        power *= 2
    return found


def _gates(gates, rates, first, heads, start, end):
    """Logarithms of the decays, summed up from the chunk's first token on, and the strengths."""
    own = loaded_as(rates[first : first + heads], nl.float32)
    decay = loaded_as(gates[0, first : first + heads, start:end], nl.float32)
    nisa.activation(dst=decay, op=nl.softplus, data=decay, bias=own[:, 1:2])
    nisa.tensor_scalar(
        dst=decay, data=decay, op0=nl.multiply, operand0=own[:, 0:1], op1=nl.multiply, operand1=-1.0
    )
    strength = loaded_as(gates[1, first : first + heads, start:end], nl.float32)
    nisa.activation(dst=strength, op=nl.sigmoid, data=strength)
    summed = sbuf_tile(decay.shape)
    nisa.tensor_tensor_scan(
        dst=summed,
        data0=nl.full(decay.shape, 1.0, dtype=nl.float32),
        data1=decay,
        initial=0.0,
        op0=nl.multiply,
        op1=nl.add,
    )
    return summed, strength


def _length(tile, ones, scale):
    """scale / √(sum of squares) of each token, tokens on the partitions."""
    squares = sbuf_tile(tile.shape)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    found = sbuf_tile((tile.shape[1], 1))
    little = nl.full(found.shape, EPSILON, dtype=nl.float32)
    nisa.activation(dst=found, op=nl.rsqrt, data=multiplied(squares, ones), scale=scale**-2, bias=little)
    return found


def _kept(bank):
    """In SBUF what a bank, or a part of a tile, holds."""
    tile = sbuf_tile(bank.shape)
    nisa.tensor_copy(dst=tile, src=bank, engine=nisa.engine.vector)
    return tile


def _turned(tile):
    bank = psum_tile((tile.shape[1], tile.shape[0]))
    nisa.nc_transpose(dst=bank, data=tile, engine=nisa.engine.tensor)
    return _kept(bank)


def _cut(source, start, end):
    return loaded_as(source[:, start:end], nl.float32)


# For whoever runs it --------------------------------------------------------------------------


def delta_prompt_pieces(inputs):
    """Eight chunks of heads that are worked on together; the state goes from one to the next."""
    (heads, _, tokens), _ = inputs[0]
    return tuple(
        (_piece(inputs, group, long), many * times)
        for group, many in pieces_of(heads, TOGETHER)
        for long, times in pieces_of(tokens, 8 * CHUNK)
    )


def _piece(inputs, heads, tokens):
    q, k, v, gates, rates = inputs
    cut = [((heads, shape[1], tokens), dtype) for shape, dtype in (q, k, v)]
    return (*cut, ((2, heads, tokens), gates[1]), ((heads, 2), rates[1]))


delta_prompt_reference = "trnbench_kernels.nki.step_references:delta_prompt"
