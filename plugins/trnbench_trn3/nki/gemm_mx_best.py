"""The product of microscaled operands as it is written for speed; operands and scales lie as `gemm_mx` says.

Against `gemm_mx_blocked` it never lets the tensor engine wait:

- The panels of the next step are asked for before this step is multiplied and its results are stored, so
  that transfers have nothing to wait for.
- Within a step the contraction is the outer loop over four PSUM banks: rows are multiplied as they
  arrive. The four other banks are emptied meanwhile, by two engines in turn.
- Launched as several programs (LNC=2), each takes its share of the rows of C.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_trn3.nki.shapes import product_inputs, product_pieces
from trnbench_trn3.nki.tiles import hbm_tensor, loaded, loaded_scales, psum_tile, sbuf_tile, words_of

BLOCK_M, BLOCK_N = 1024, 2048  # of C: sums of a block take 64 KiB of a partition
PANEL = 512  # words of the contraction: as many scales as fit one tile; two steps lie beside the sums
BANKS = 4  # of PSUM filled together; as many are emptied meanwhile


@nki.jit
def gemm_mx_best(lhsT, rhs, lhsT_scale, rhs_scale):  # noqa: N803
    """Blocks of C in turn, each over all of the contraction."""
    left, right = (words_of(lhsT), lhsT_scale), (words_of(rhs), rhs_scale)
    m_size, n_size = lhsT.shape[1], rhs.shape[1]
    result = hbm_tensor((m_size, n_size), nl.bfloat16)
    first, last = _share(m_size)
    if first == last:
        return result
    rows, columns = min(BLOCK_M, last - first), min(BLOCK_N, n_size)
    whole_m, rest_m = divmod(last - first, rows)
    whole_n, rest_n = divmod(n_size, columns)
    for n in nl.affine_range(whole_n):
        _columns(result, left, right, first, rows, whole_m, rest_m, n * columns, columns)
    if rest_n:
        _columns(result, left, right, first, rows, whole_m, rest_m, whole_n * columns, rest_n)
    return result


def _columns(result, left, right, first, rows, whole, rest, n, columns):
    """The blocks of C below each other in `columns` columns from `n` on."""
    panels = _panels(left, right, 0, first, rows, n, columns)
    for block in nl.affine_range(whole - 1):
        start = first + block * rows
        panels = _block(result, left, right, start, rows, n, columns, panels, start + rows, rows)
    start = first + (whole - 1) * rows
    if rest:
        panels = _block(result, left, right, start, rows, n, columns, panels, start + rows, rest)
        _block(result, left, right, start + rows, rest, n, columns, panels, 0, 0)
    else:
        _block(result, left, right, start, rows, n, columns, panels, 0, 0)


def _block(result, left, right, m, rows, n, columns, panels, next_m, next_rows):
    """One block of C; returns the first panels of the next one, which are on their way."""
    steps = (left[0].shape[0] + PANEL - 1) // PANEL
    totals = []
    if steps > 1:
        for at in nl.affine_range(0, rows, nl.tile_size.gemm_stationary_fmax):
            high = min(nl.tile_size.gemm_stationary_fmax, rows - at)
            totals.append(sbuf_tile((high, columns)))
        following = _panels(left, right, PANEL, m, rows, n, columns)
        _multiply(panels, rows, columns, totals, True)
        panels = following
        for number in nl.sequential_range(steps - 2):
            following = _panels(left, right, (number + 2) * PANEL, m, rows, n, columns)
            _multiply(panels, rows, columns, totals, False)
            panels = following
    following = _panels(left, right, 0, next_m, next_rows, n, columns) if next_rows else None
    _multiply(panels, rows, columns, totals, False, result[m : m + rows, n : n + columns])
    return following


def _panels(left, right, k, m, rows, n, columns):
    """The next words of the contraction in tiles of the array's height, by turns of either operand."""
    k_end = min(k + PANEL, left[0].shape[0])
    left_scales = loaded_scales(left[1], k, k_end, m, m + rows)
    right_scales = loaded_scales(right[1], k, k_end, n, n + columns)
    tiles = []
    for number, at in enumerate(nl.affine_range(k, k_end, nl.tile_size.pmax)):
        end = min(at + nl.tile_size.pmax, k_end)
        tiles.append(
            (
                loaded(left[0][at:end, m : m + rows]),
                loaded(right[0][at:end, n : n + columns]),
                left_scales[4 * number :],
                right_scales[4 * number :],
            )
        )
    return tiles


def _multiply(panels, rows, columns, totals, fresh, target=None):
    """One step of a block: into `totals`, or with them into `target`."""
    tile_m, tile_n = nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax
    across = (columns + tile_n - 1) // tile_n
    down = max(BANKS // across, 1)  # rows of tiles that are filled together
    for m in nl.affine_range(0, rows, down * tile_m):
        outs = [
            _out(target, totals, at // tile_m, min(tile_m, rows - at), columns)
            for at in nl.affine_range(m, min(m + down * tile_m, rows), tile_m)
        ]
        for n in nl.affine_range(0, columns, BANKS * tile_n):
            banks = _banks(m, min(m + down * tile_m, rows), n, min(n + BANKS * tile_n, columns))
            for panel in panels:
                for bank, m0, n0 in banks:
                    _product(bank, panel, m0, n0)
            for number, (bank, m0, n0) in enumerate(banks):
                out = outs[(m0 - m) // tile_m][:, n0 : n0 + bank.shape[1]]
                before = totals[m0 // tile_m][:, n0 : n0 + bank.shape[1]] if totals and not fresh else None
                _empty(out, bank, before, number)
        if target is not None:
            for index, out in enumerate(outs):
                at = m + index * tile_m
                nisa.dma_copy(dst=target[at : at + out.shape[0]], src=out)


def _out(target, totals, index, high, columns):
    if target is None:
        return totals[index]
    return sbuf_tile((high, columns), target.dtype)


def _banks(m, m_end, n, n_end):
    tile_m, tile_n = nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax
    found = []
    for m0 in nl.affine_range(m, m_end, tile_m):
        for n0 in nl.affine_range(n, n_end, tile_n):
            shape = (min(tile_m, m_end - m0), min(tile_n, n_end - n0))
            found.append((psum_tile(shape), m0, n0))
    return found


def _product(bank, panel, m, n):
    left, right, left_scales, right_scales = panel
    m_end, n_end = m + bank.shape[0], n + bank.shape[1]
    nisa.nc_matmul_mx(
        dst=bank,
        stationary=left[:, m:m_end],
        moving=right[:, n:n_end],
        stationary_scale=left_scales[:, m:m_end],
        moving_scale=right_scales[:, n:n_end],
    )


def _empty(out, bank, before, number):
    """What a bank holds goes to SBUF, added to what was there; without a sum two engines take turns."""
    if before is not None:
        nisa.tensor_tensor(dst=out, data1=before, data2=bank, op=nl.add)
    elif number % 2:
        nisa.activation(dst=out, op=nl.copy, data=bank)
    else:
        nisa.tensor_copy(dst=out, src=bank, engine=nisa.engine.vector)


def _share(m_size):
    """The rows of C of this program: all, or its share of the tiles."""
    if nl.program_ndim() == 0 or nl.num_programs(0) == 1:
        return 0, m_size
    height, number, count = nl.tile_size.gemm_stationary_fmax, nl.program_id(0), nl.num_programs(0)
    tiles = (m_size + height - 1) // height
    return min(tiles * number // count * height, m_size), min(tiles * (number + 1) // count * height, m_size)


# For whoever runs it --------------------------------------------------------------------------

gemm_mx_best_inputs = product_inputs


def gemm_mx_best_pieces(inputs):
    """Blocks of C: each is a product by itself, so a large one repeats a few smaller ones."""
    return product_pieces(inputs, BLOCK_M, BLOCK_N)


gemm_mx_best_reference = "trnbench_trn3.nki.references:gemm_mx_best"
