"""Attention of a prompt block by block, forward and backward: scores never leave the chip (Dao et al. 2022).

q, k and v come as (heads, rows, parts, tokens), features on the partitions, v also as (heads, tokens, width).
A token sees those up to its own where `causal`, and of these the last `window` where that is not 0: whole
blocks of keys are left out, and what a block hides besides is not.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile, turned_dtype

BLOCK = 2048  # queries, and keys, of a block
MASKED = -30000.0  # its exponential is 0 in every type
GROUP = 4  # tiles of weights that are turned together


@nki.jit
def flash(q, k, v, causal, window):
    """softmax(qᵀ · k / √width) · v: (heads, tokens, width of v)."""
    heads, rows, parts, tokens = q.shape
    width = v.shape[2]
    result = hbm_tensor((heads, tokens, width), v.dtype)
    scale = (rows * parts) ** -0.5
    for head in nl.affine_range(heads):
        for start in nl.affine_range(0, tokens, BLOCK):
            end = min(start + BLOCK, tokens)
            queries = _features(q[head], start, end)
            rows_of = [_Rows(at - start, to - start, width) for at, to in _tiles(start, end)]
            for first, last in _seen(start, end, tokens, causal, window):
                keys, values = _features(k[head], first, last), _values(v[head], first, last)
                offset = start - first if causal and last > start else None
                # The scores of the next queries are found while the weights of these are turned.
                scores = _scores(rows_of[0], queries, keys, scale, offset)
                for number in nl.sequential_range(len(rows_of) - 1):
                    weights = _weights(rows_of[number], scores, v.dtype, scale)
                    scores = _scores(rows_of[number + 1], queries, keys, scale, offset)
                    _weigh(rows_of[number], weights, values)
                _weigh(rows_of[-1], _weights(rows_of[-1], scores, v.dtype, scale), values)
            for each in rows_of:
                _divide(result[head, start + each.first : start + each.last], each)
    return result


class _Rows:
    """Of some queries, from `first` on: minus the largest score, the sum of weights, the values weighed."""

    def __init__(self, first, last, width):
        self.first, self.last, high = first, last, last - first
        self.top = nl.full((high, 1), -MASKED, dtype=nl.float32)
        self.fade = sbuf_tile((high, 1))
        self.sum = nl.zeros((high, 1), dtype=nl.float32)
        self.out = nl.zeros((high, width), dtype=nl.float32)


def _tiles(start, end):
    """Where each begins and ends; the last may be filled in part."""
    tile = nl.tile_size.pmax
    return [(at, min(at + tile, end)) for at in range(start, end, tile)]


def _seen(start, end, tokens, causal, window):
    """Blocks of keys that queries from `start` to `end` see."""
    first = max(start - window, 0) // BLOCK * BLOCK if window else 0
    return [(at, min(at + BLOCK, tokens)) for at in range(first, end if causal else tokens, BLOCK)]


def _features(source, start, end):
    return loaded(source[:, :, start:end])


def _values(source, start, end):
    """Keys on the partitions, tile by tile."""
    return [loaded(source[at:to]) for at, to in _tiles(start, end)]


def _products(first, last, queries, keys):
    """Scores of queries first to last, in the banks they are summed in: (from, to, bank)."""
    chunk, count, found = nl.tile_size.gemm_moving_fmax, keys.shape[2], []
    for at in nl.affine_range(0, count, chunk):
        to = min(at + chunk, count)
        bank = psum_tile((last - first, to - at))
        for part in nl.sequential_range(keys.shape[1]):
            nisa.nc_matmul(dst=bank, stationary=queries[:, part, first:last], moving=keys[:, part, at:to])
        found.append((at, to, bank))
    return found


def _scores(each, queries, keys, scale, offset):
    """Of another block of keys; query i sees key i + `offset` and those before it, all where that is None."""
    count = keys.shape[2]
    seen = count if offset is None else min(each.last + offset, count)
    scores = sbuf_tile((each.last - each.first, seen))
    for at, to, bank in _products(each.first, each.last, queries, keys[:, :, :seen]):
        nisa.activation(dst=scores[:, at:to], op=nl.copy, data=bank)
    if offset is not None:
        own = each.first + offset
        nisa.affine_select(
            dst=scores[:, own:seen],
            pattern=[[-1, seen - own]],
            channel_multiplier=1,
            on_true_tile=scores[:, own:seen],
            on_false_value=MASKED / scale,
            cmp_op=nl.greater_equal,
        )
    return scores


def _weights(each, scores, dtype, scale):
    """exp(scores - the largest score so far); what was summed before fades by what that has grown."""
    high = scores.shape[0]
    top = sbuf_tile((high, 1))
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, negate=True)
    nisa.scalar_tensor_tensor(
        dst=top, data=top, op0=nl.multiply, operand0=scale, op1=nl.minimum, operand1=each.top
    )
    nisa.activation(dst=each.fade, op=nl.exp, data=each.top, scale=-1.0, bias=top)
    each.top = top
    weights = sbuf_tile(scores.shape, dtype)
    total = sbuf_tile((high, 1))
    nisa.activation_reduce(
        dst=weights, op=nl.exp, data=scores, scale=scale, bias=top, reduce_op=nl.add, reduce_res=total
    )
    nisa.scalar_tensor_tensor(
        dst=each.sum, data=each.sum, op0=nl.multiply, operand0=each.fade, op1=nl.add, operand1=total
    )
    return weights


def _weigh(each, weights, values):
    """The values of a block, weighed and added."""
    sums = psum_tile(each.out.shape)
    tiles = len(_tiles(0, weights.shape[1]))
    ready = _turned(weights, 0)
    for first in nl.sequential_range(GROUP, tiles, GROUP):
        following = _turned(weights, first)
        _add(sums, ready, values)
        ready = following
    _add(sums, ready, values)
    nisa.scalar_tensor_tensor(
        dst=each.out, data=each.out, op0=nl.multiply, operand0=each.fade, op1=nl.add, operand1=sums
    )


def _add(sums, ready, values):
    for index, turned in ready:
        nisa.nc_matmul(dst=sums, stationary=turned, moving=values[index][: turned.shape[0]])


def _turned(weights, first):
    """Up to four tiles of weights from the `first` on, keys on the partitions, with their numbers."""
    (high, seen), tile = weights.shape, nl.tile_size.pmax
    last = min(first + GROUP, len(_tiles(0, seen)))
    turned = psum_tile((tile, last - first, high), turned_dtype(weights.dtype))
    ready = sbuf_tile(turned.shape, weights.dtype)
    whole = seen // tile - first if seen % tile and last * tile > seen else last - first
    for index in nl.affine_range(last - first):
        at = (first + index) * tile
        end = min(at + tile, seen)
        nisa.nc_transpose(dst=turned[: end - at, index, :], data=weights[:, at:end])
    if whole:
        nisa.tensor_copy(dst=ready[:, :whole, :], src=turned[:, :whole, :], engine=nisa.engine.vector)
    if whole < last - first:
        rest = seen % tile
        nisa.tensor_copy(dst=ready[:rest, whole, :], src=turned[:rest, whole, :], engine=nisa.engine.vector)
    return [
        (first + index, ready[: min(tile, seen - (first + index) * tile), index, :])
        for index in range(last - first)
    ]


def _divide(target, each):
    share = sbuf_tile(each.sum.shape)
    nisa.reciprocal(dst=share, data=each.sum)
    out = sbuf_tile(each.out.shape, target.dtype)
    nisa.tensor_scalar(dst=out, data=each.out, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=target, src=out)


@nki.jit
def flash_backward(q, k, v, by_token, gradient, kept, causal, window):
    """Gradients of q, k and v: (3, heads, tokens, width).

    `by_token`: q and k once more as (2, heads, tokens, width). `gradient` of the result both ways: (heads,
    rows, parts, tokens), then (heads, tokens, width). `kept` of every query: minus the logarithm of its sum
    of weights, and the product of result and gradient, (heads, tokens, 2).
    """
    heads, rows, parts, tokens = q.shape
    width, scale = rows * parts, (rows * parts) ** -0.5
    result = hbm_tensor((3, heads, tokens, width), nl.float32)
    along, across = gradient
    for head in nl.affine_range(heads):
        sums = {at: nl.zeros((to - at, width), dtype=nl.float32) for at, to in _tiles(0, tokens)}
        for first in nl.affine_range(0, tokens, BLOCK):
            last = min(first + BLOCK, tokens)
            keys, values = _features(k[head], first, last), _features(v[head], first, last)
            key_rows = _values(by_token[1, head], first, last)
            of_keys = [nl.zeros(row.shape, dtype=nl.float32) for row in key_rows]
            of_values = [nl.zeros(row.shape, dtype=nl.float32) for row in key_rows]
            for start, end in _tiles(0, tokens):
                if not _meets(start, end, first, tokens, causal, window):
                    continue
                offset = start - first if causal and last > start else None
                seen = min(end, last) - first if offset is not None else last - first
                queries, outward = _features(q[head], start, end), _features(along[head], start, end)
                known = _values(kept[head], start, end)[0]
                weights, slopes = _slopes(
                    queries, outward, keys[:, :, :seen], values[:, :, :seen], known, offset, scale
                )
                _inward(weights, _values(across[head], start, end)[0], of_values, seen)
                _inward(slopes, _values(by_token[0, head], start, end)[0], of_keys, seen)
                total = psum_tile(sums[start].shape)
                ready = [
                    turned
                    for group in range(0, len(_tiles(0, seen)), GROUP)
                    for turned in _turned(slopes, group)
                ]
                _add(total, ready, key_rows)
                nisa.tensor_tensor(dst=sums[start], data1=sums[start], data2=total, op=nl.add)
            for index in range(len(key_rows)):
                at = first + index * nl.tile_size.pmax
                nisa.dma_copy(dst=result[1, head, at : at + key_rows[index].shape[0]], src=of_keys[index])
                nisa.dma_copy(dst=result[2, head, at : at + key_rows[index].shape[0]], src=of_values[index])
        for at, each in sums.items():
            nisa.dma_copy(dst=result[0, head, at : at + each.shape[0]], src=each)
    return result


def _meets(start, end, first, tokens, causal, window):
    """Whether queries from `start` to `end` see the block of keys from `first` on."""
    block = start // BLOCK * BLOCK
    blocks = _seen(block, min(block + BLOCK, tokens), tokens, causal, window)
    return first in [at for at, _ in blocks] and not (causal and first >= end)


def _slopes(queries, outward, keys, values, known, offset, scale):
    """Weights of these queries, and the gradients of their scores."""
    dtype = queries.dtype
    high, seen = queries.shape[2], keys.shape[2]
    scores = sbuf_tile((high, seen))
    weights = sbuf_tile((high, seen), dtype)
    slopes = sbuf_tile((high, seen), dtype)
    for at, to, bank in _products(0, high, queries, keys):
        nisa.activation(dst=scores[:, at:to], op=nl.exp, data=bank, scale=scale, bias=known[:, 0:1])
    if offset is not None:
        nisa.affine_select(
            dst=scores[:, offset:seen],
            pattern=[[-1, seen - offset]],
            channel_multiplier=1,
            on_true_tile=scores[:, offset:seen],
            on_false_value=0.0,
            cmp_op=nl.greater_equal,
        )
    nisa.activation(dst=weights, op=nl.copy, data=scores)
    for at, to, bank in _products(0, high, outward, values):
        nisa.scalar_tensor_tensor(
            dst=slopes[:, at:to],
            data=bank,
            op0=nl.subtract,
            operand0=known[:, 1:2],
            op1=nl.multiply,
            operand1=scores[:, at:to],
        )
    nisa.tensor_scalar(dst=slopes, data=slopes, op0=nl.multiply, operand0=scale)
    return weights, slopes


def _inward(weights, moving, sums, seen):
    """Of each tile of keys the sum over these queries, added."""
    for index, (at, end) in enumerate(_tiles(0, seen)):
        bank = psum_tile((end - at, moving.shape[1]))
        nisa.nc_matmul(dst=bank, stationary=weights[:, at:end], moving=moving)
        nisa.tensor_tensor(dst=sums[index][: end - at], data1=sums[index][: end - at], data2=bank, op=nl.add)


# For whoever runs them ------------------------------------------------------------------------


def flash_pieces(inputs):
    """Pairs of blocks: those on the diagonal, where something is hidden, and the others."""
    q, k, v, causal, window = inputs
    return tuple(
        ((*_cut((q, k), -1, side), *_cut((v,), 1, side), hidden, 0), times)
        for side, hidden, times in _blocks(q[0][0], q[0][3], causal, window)
    )


def flash_backward_pieces(inputs):
    """The same of the backward pass."""
    q, k, v, by_token, gradient, kept, causal, window = inputs
    return tuple(
        (
            (
                *_cut((q, k, v), -1, side),
                *_cut((by_token,), 2, side),
                (*_cut(gradient[:1], -1, side), *_cut(gradient[1:], 1, side)),
                *_cut((kept,), 1, side),
                hidden,
                0,
            ),
            times,
        )
        for side, hidden, times in _blocks(q[0][0], q[0][3], causal, window)
    )


def _blocks(heads, tokens, causal, window):
    """(tokens of a block, is something hidden in it, how many there are)."""
    side = min(BLOCK, tokens)
    count = (tokens + side - 1) // side
    if not causal:
        return [(side, False, heads * count * count)]
    reach = (window + side - 1) // side if window else count
    pairs = sum(min(number, reach) for number in range(count))
    return [(side, True, heads * count)] + ([(side, False, heads * pairs)] if pairs else [])


def _cut(tensors, axis, side):
    """One head of `side` tokens."""
    made = []
    for shape, dtype in tensors:
        sizes = list(shape)
        sizes[axis] = side
        sizes[1 if len(sizes) == 4 and axis == 2 else 0] = 1
        made.append((tuple(sizes), dtype))
    return made


flash_reference = "trnbench_kernels.nki.step_references:flash"
flash_backward_reference = "trnbench_kernels.nki.step_references:flash_backward"
