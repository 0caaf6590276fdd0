"""Every instruction and every view against NumPy, and the same instructions when only shapes flow.

A key of a case is the public name that it stands for in docs/nki.md.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_values import Run, case, issues_the_same_by_shapes, matches_numpy


def _scan(x: Any, y: Any) -> Any:
    out, state = np.empty_like(x), np.full(len(x), 0.5, np.float32)
    for at in range(x.shape[1]):
        state = x[:, at] * state + y[:, at]
        out[:, at] = state
    return out


def _mx(half: Any, other: Any) -> Any:
    # What quantize_mx keeps: 3 bits after the leading one, at a scale of the largest of 32.
    def kept(v: Any) -> Any:
        groups = v.astype(np.float32).reshape(4, 8, -1, 4)
        largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
        scale = 2.0 ** (np.floor(np.log2(largest)) - 7)
        return ((groups / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale).reshape(v.shape)

    left, right = kept(half).reshape(32, -1, 4), kept(other).reshape(32, -1, 4)
    return np.einsum("kmi,kni->mn", left, right)


INSTRUCTIONS = {
    "nisa.dma_copy": case("t = x", lambda x: x, ""),
    "nisa.tensor_copy": case("nisa.tensor_copy(t, x)", lambda x: x, "nl.bfloat16"),
    "nisa.memset": case("nisa.memset(t, 1.5)", lambda: np.full((8, 8), 1.5)),
    "nisa.tensor_copy_predicated": case(
        "nisa.memset(t, 7.0)\nnisa.tensor_copy_predicated(t, x, y)", lambda x, flags: np.where(flags, x, 7.0)
    ),
    "nisa.nc_matmul": case(
        "ps = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)\n"
        "nisa.nc_matmul(ps, x, y, tile_position=(0, 0), tile_size=(32, 64))\nnisa.tensor_copy(t, ps)",
        lambda x, y: x.T @ y,
    ),
    "nisa.nc_transpose": case(
        "nisa.nc_transpose(t, x[:, 0:32], engine=nisa.engine.vector)", lambda x: x[:, :32].T
    ),
    "nisa.dma_transpose": case(
        "t = nl.ndarray((64, 32), nl.bfloat16)\nnisa.dma_transpose(t, args[0])",
        lambda half: half.T,
        "",
        load=False,
    ),
    "nisa.tensor_tensor": case("nisa.tensor_tensor(t, x, y, nl.subtract)", lambda x, y: x - y),
    "nisa.tensor_scalar": case(
        "nisa.tensor_scalar(t, x, nl.left_shift, 2, op1=nl.bitwise_xor, operand1=-1)",
        lambda ints: (ints << 2) ^ -1,
        "nl.int32",
    ),
    "nisa.tensor_reduce": case(
        "nisa.tensor_reduce(t, nl.minimum, x, axis=1, negate=True)", lambda x: -x.min(1, keepdims=True)
    ),
    "nisa.tensor_partition_reduce": case(
        "nisa.tensor_partition_reduce(t, nl.add, x)", lambda x: x.sum(0, keepdims=True)
    ),
    "nisa.tensor_scalar_cumulative": case(
        "nisa.tensor_scalar_cumulative(t, x, nl.multiply, nl.add, 2.0)", lambda x: np.cumsum(2 * x, axis=1)
    ),
    "nisa.tensor_tensor_scan": case("nisa.tensor_tensor_scan(t, x, y, 0.5, nl.multiply, nl.add)", _scan),
    "nisa.scalar_tensor_tensor": case(
        "nisa.scalar_tensor_tensor(t, x, nl.square, None, nl.subtract, y, reverse1=True)",
        lambda x, y: y - x * x,
    ),
    "nisa.tensor_scalar_reduce": case(
        "u = nl.ndarray(x.shape, nl.float32)\n"
        "nisa.tensor_scalar_reduce(u, x, nl.add, 1.0, nl.maximum, t, reduce_res_negate=True)",
        lambda x: -(x + 1).max(1, keepdims=True),
    ),
    "nisa.activation": case(
        "u = nl.ndarray(x.shape, nl.float32)\n"
        "nisa.activation(u, nl.exp, x, scale=0.5, bias=x[:, 0:1], reduce_op=nl.add,"
        " reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
        "nisa.activation(u, nl.copy, x, reduce_op=nl.add, reduce_res=t, reduce_cmd=nisa.reduce_cmd.reduce)",
        lambda x: (np.exp(x * 0.5 + x[:, :1]) + x).sum(1, keepdims=True),
    ),
    "nisa.activation_reduce": case(
        "u = nl.ndarray(x.shape, nl.float32)\nnisa.activation_reduce(u, nl.square, x, nl.add, t)",
        lambda x: (x * x).sum(1, keepdims=True),
    ),
    "nisa.activate2": case(
        "nisa.activate2(t, nl.prelu, x, 2.0, 1.0, nl.multiply, nl.subtract, relu_param=0.1)",
        lambda x: np.where(2 * x - 1 >= 0, 2 * x - 1, 0.1 * (2 * x - 1)),
    ),
    "nisa.exponential": case(
        "u = nl.ndarray(x.shape, nl.float32)\n"
        "nisa.exponential(u, x, x[:, 0:1], t, nisa.reduce_cmd.load_reduce, 3.0)",
        lambda x: np.exp(x - x[:, :1]).sum(1, keepdims=True) + 3,
    ),
    "nisa.reciprocal": case("nisa.reciprocal(t, x)", lambda x: 1 / x),
    "nisa.iota": case(
        "nisa.iota(t, [[10, 2], [1, 3]], offset=5, channel_multiplier=100)",
        lambda: 5 + 100 * np.arange(8)[:, None, None] + 10 * np.arange(2)[:, None] + np.arange(3),
        "nl.int32",
    ),
    "nisa.affine_select": case(
        "nisa.affine_select(t, [[-1, 64]], 1, x, -9.0, nl.greater_equal)",
        lambda x: np.where(np.arange(32)[:, None] >= np.arange(64), x, -9.0),
    ),
    "nisa.range_select": case(
        "u = nl.ndarray(x.shape, nl.float32)\nlow = nl.full((32, 1), 3.0, nl.float32)\n"
        "high = nl.full((32, 1), 20.0, nl.float32)\n"
        "nisa.range_select(u, x, nl.greater_equal, nl.less, low, high, reduce_res=t)",
        lambda x: x[:, 3:20].max(1, keepdims=True),
    ),
    "nisa.select_reduce": case(
        "u = nl.ndarray(x.shape, nl.float32)\n"
        "nisa.select_reduce(u, y, x, -5.0, t, nisa.reduce_cmd.reset_reduce, reverse_pred=True)",
        lambda x, flags: np.where(flags == 0, x, -5.0).max(1, keepdims=True),
    ),
    "nisa.sequence_bounds": case(
        "nisa.sequence_bounds(t, x)",
        lambda segments: np.array([[[8, 1, 1, 3, 3, 3, 8, 7], [-1, 3, 3, 6, 6, 6, -1, 8]]]),
        "nl.int32",
    ),
    "nisa.local_gather": case(
        "nisa.local_gather(t, x, y)",
        lambda x, picks: np.concatenate([x[r : r + 16][:, picks[r : r + 16].T.reshape(-1)] for r in (0, 16)]),
    ),
    "nisa.nc_n_gather": case(
        "nisa.nc_n_gather(t, x, y)", lambda x, ids: np.take_along_axis(x, ids.astype(np.int64), 1)
    ),
    "nisa.nc_stream_shuffle": case(
        "nisa.nc_stream_shuffle(t, x, [31 - i for i in range(32)])", lambda x: x[::-1]
    ),
    "nisa.nonzero_with_count": case(
        "nisa.nonzero_with_count(t, x[0:1], index_offset=16)",
        lambda bits: np.concatenate(
            [(f := np.flatnonzero(bits[0])) + 16, np.full(64 - len(f), -1), [len(f)]]
        ).reshape(1, -1),
        "nl.int32",
    ),
    "nisa.topk": case(
        "v = nl.ndarray((32, 8), nl.bfloat16); t = nl.ndarray((32, 8), nl.uint32)\n"
        "nisa.topk(v, t, x[:, 0:3], n=42)",
        lambda half: np.concatenate(
            [
                np.tile(
                    np.argsort(half[r : r + 16, :3].T.reshape(-1)[:42].astype(np.float32), kind="stable")[
                        -8:
                    ],
                    (16, 1),
                )
                for r in (0, 16)
            ]
        ),
        "",
    ),
    "nisa.bn_stats": case(
        "nisa.bn_stats(t, x)",
        lambda x: np.stack(
            [f for h in (x[:, ::2], x[:, 1::2]) for f in (np.full(32, 32.0), h.mean(1), h.var(1) * 32)], 1
        ),
    ),
    "nisa.bn_aggr": case(
        "s = nl.ndarray((32, 12), nl.float32)\nnisa.bn_stats(s[:, 0:6], x)\nnisa.bn_stats(s[:, 6:12], y)\n"
        "nisa.bn_aggr(t, s)",
        lambda x, y: np.stack([(z := np.concatenate([x, y], 1)).mean(1), z.var(1)], 1),
    ),
    "nisa.max8": case("nisa.max8(t, x)", lambda x: np.sort(x, 1)[:, ::-1][:, :8]),
    "nisa.nc_find_index8": case(
        "v = nl.ndarray((32, 8), nl.float32)\nnisa.max8(v, x)\nnisa.nc_find_index8(t, x, v)",
        lambda x: np.argsort(-x, 1)[:, :8],
        "nl.uint32",
    ),
    "nisa.nc_match_replace8": case(
        "u = nl.ndarray((1, 11), nl.float32)\nnisa.nc_match_replace8(u, x, y, 0.0, t)",
        lambda digits, eights: np.array([[2, 10, 9, 8, 7, 6, 5, 4]]),
        "nl.uint32",
    ),
    "nisa.dma_compute": case("nisa.dma_compute(t, [x, y, x], nl.add)", lambda x, y: 2 * x + y),
    "nisa.quantize_mx": case(
        "t = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        "x = nl.load(args[0])\nnisa.quantize_mx(t, x, s)\nt = s",
        lambda half: (
            np.floor(np.log2(np.abs(half.astype(np.float32)).reshape(4, 8, 16, 4).max((1, 3)))) - 7 + 127
        ),
        "",
        load=False,
    ),
    "nisa.nc_matmul_mx": case(
        "q = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        "r = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); u = nl.ndarray((4, 16), nl.float8_e8m0fnu)\n"
        "nisa.quantize_mx(q, x, s)\nnisa.quantize_mx(r, y, u)\n"
        "ps = nl.ndarray((16, 16), nl.float32, buffer=nl.psum)\nnisa.nc_matmul_mx(ps, q, r, s, u)\n"
        "nisa.tensor_copy(t, ps)",
        _mx,
    ),
    "nisa.sendrecv": case("nisa.sendrecv(x, t, 0, 0, pipe_id=0)", lambda x: x),
    "nisa.core_barrier": case("t = x\nnisa.core_barrier(args[0], (0, 1))", lambda x: x, ""),
    "nisa.rng": case(
        "a = nl.ndarray((32, 64), nl.uint16); b = nl.ndarray((32, 64), nl.uint16)\n"
        "seed = nl.full((1, 1), 7, nl.int32)\n"
        "nisa.set_rng_seed(seed); nisa.rng(a); nisa.set_rng_seed(seed); nisa.rng(b)\n"
        "nisa.tensor_tensor(t, a, b, nl.bitwise_xor)",
        lambda: np.zeros((32, 64)),
        "nl.uint16",
    ),
    "nisa.set_rng_seed": case(
        "t = nl.full((1, 1), 7, nl.int32)\nnisa.set_rng_seed(t)", lambda: np.full((1, 1), 7), ""
    ),
    "nisa.rand_set_state": case(
        "nisa.rand_set_state(x)\nnisa.rand_get_state(t)", lambda states: states, "nl.uint32"
    ),
    "nisa.rand_get_state": case("nisa.rand_get_state(t)", lambda: np.zeros((4, 6)), "nl.uint32"),
    "nisa.rand2": case(
        "u = nl.ndarray((32, 64), nl.float32)\nnisa.rand2(u, 2.0, 3.0)\n"
        "nisa.tensor_scalar(t, u, nl.greater_equal, 2.0)",
        lambda: np.ones((32, 64)),
    ),
    "nisa.dropout": case("nisa.dropout(t, x, 1.0)", lambda x: 0 * x),
    "nisa.register_alloc": case(
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc(41)\nnisa.register_store(t, r)",
        lambda: np.array([[41]]),
        "",
    ),
    "nisa.register_move": case(
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc()\nnisa.register_move(r, 5)\n"
        "nisa.register_store(t, r)",
        lambda: np.array([[5]]),
        "",
    ),
    "nisa.register_load": case(
        "t = nl.full((1, 1), 9, nl.int32)\nr = nisa.register_alloc()\nnisa.register_load(r, t)",
        lambda: np.array([[9]]),
        "",
    ),
    "nisa.register_store": case(
        "t = nl.ndarray((1, 1), nl.int32)\nnisa.register_store(t, nisa.register_alloc(3))",
        lambda: np.array([[3]]),
        "",
    ),
    "nisa.get_nc_version": case(
        "t = nl.full((1, 1), int(nisa.get_nc_version() == nisa.nc_version.gen4), nl.int32)",
        lambda: np.array([[1]]),
        "",
    ),
    "nisa.get_nc_sub_version": case(
        "t = nl.full((1, 1), nisa.get_nc_sub_version(), nl.int32)", lambda: np.zeros((1, 1)), ""
    ),
    "nisa.dge_mode": case(
        "t = nl.ndarray((32, 64), nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(t, args[0], dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync, priority=1)",
        lambda x: x,
        "",
        load=False,
    ),
    "nisa.dma_engine": case(
        "nisa.sendrecv(x, t, 0, 0, 0, dma_engine=nisa.dma_engine.gpsimd_dma)", lambda x: x
    ),
    "nisa.VirtualRegister": case(
        "r = nisa.register_alloc(2)\nassert isinstance(r, nisa.VirtualRegister) and r and int(r) == 2\n"
        "t = nl.full((1, 1), 2, nl.int32)",
        lambda: np.full((1, 1), 2),
        "",
    ),
}
# What is done to a tensor without an instruction: views and addresses.
VIEWS = {
    "tensor.ap": case(
        "t = x.ap([[64, 32], [2, 16], [32, 2]], offset=1)",
        lambda x: x.reshape(32, 2, 16, 2)[..., 1].transpose(0, 2, 1),
        "",
    ),
    "tensor.ap(vector_offset)": case(
        "i = nl.load(args[1])\nt = nl.ndarray((32, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].ap([[48, 32], [1, 48]], vector_offset=i, indirect_dim=0))",
        lambda big, rows: big[rows[:, 0]],
        "",
        load=False,
    ),
    "tensor.ap(scalar_offset)": case(
        "r = nisa.register_alloc(3)\nt = nl.ndarray((4, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].ap([[48, 4], [1, 48]], scalar_offset=r, indirect_dim=0))",
        lambda big: big[3:7],
        "",
        load=False,
    ),
    "tensor.vector_select": case(
        "i = nl.load(args[1])\nt = nl.ndarray((32, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].vector_select(0, i))",
        lambda big, rows: big[rows[:, 0]],
        "",
        load=False,
    ),
    "tensor.select": case(
        "i = nl.full((1, 1), 5, nl.int32)\nt = nl.ndarray((1, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].select(0, i))",
        lambda big: big[5:6],
        "",
        load=False,
    ),
    "tensor.indirect": case("nisa.tensor_copy(t, x.indirect(y, 8))", lambda x, column: x[:, column[:8, 0]]),
    "tensor.slice": case("t = x.slice(1, 8, 24, 2)", lambda x: x[:, 8:24:2], ""),
    "tensor.permute": case(
        "t = x.reshape((32, 4, 16)).permute((0, 2, 1))", lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1), ""
    ),
    "tensor.broadcast": case(
        "t = x.expand_dim(1).broadcast(1, 3)", lambda x: np.repeat(x[:, None], 3, 1), ""
    ),
    "tensor.expand_dim": case("t = x.expand_dim(2)", lambda x: x[..., None], ""),
    "tensor.squeeze_dim": case("t = x.expand_dim(1).squeeze_dim(1)", lambda x: x, ""),
    "tensor.reshape": case("t = x.reshape((32, 8, 8))", lambda x: x.reshape(32, 8, 8), ""),
    "tensor.reshape_dim": case("t = x.reshape_dim(1, (4, -1))", lambda x: x.reshape(32, 4, 16), ""),
    "tensor.flatten_dims": case("t = x.reshape((32, 4, 16)).flatten_dims(1, 2)", lambda x: x, ""),
    "tensor.rearrange": case(
        "t = x.rearrange(('b', ('h', 'w')), ('b', 'w', 'h'), {'h': 4})",
        lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1),
        "",
    ),
    "tensor.view": case("t = x.view(nl.uint16)", lambda x: x.view(np.uint16), ""),
    "tensor.is_contiguous": case(
        "t = x\nassert x.is_contiguous() and not x[:, ::2].is_contiguous()", lambda x: x, ""
    ),
    "tensor.is_indirect": case(
        "t = x\nassert not x.is_indirect() and args[0].select(0, nl.full((1, 1), 0, nl.int32)).is_indirect()",
        lambda x: x,
        "",
    ),
    "tensor.get_pattern": case(
        "t = x\nassert x[:, ::2].get_pattern() == [[64, 32], [2, 32]]", lambda x: x, ""
    ),
}
CASES = {**INSTRUCTIONS, **VIEWS}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_numpys(run_piece: Run, name: str) -> None:
    matches_numpy(run_piece, CASES[name])


@pytest.mark.parametrize(
    "name", [n for n in CASES if n != "nisa.register_store" and "assert" not in CASES[n][0]]
)
def test_shapes_issue_the_same_instructions(run_piece: Run, name: str) -> None:
    issues_the_same_by_shapes(run_piece, CASES[name])
