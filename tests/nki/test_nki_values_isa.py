"""Every instruction against NumPy, and the same instructions when only shapes flow.

A key of CASES is the public name that the case stands for in docs/nki.md.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_values import (
    FLAGS,
    HALF,
    IDS,
    IN,
    INTS,
    RNG,
    SEGMENTS,
    Case,
    Run,
    X,
    Y,
    issues_the_same_by_shapes,
    matches_numpy,
    out,
)


def _scan(x: Any, y: Any) -> Any:
    out, state = np.empty_like(x), np.full(len(x), 0.5, np.float32)
    for at in range(x.shape[1]):
        state = x[:, at] * state + y[:, at]
        out[:, at] = state
    return out


def _mx(x: Any, y: Any) -> Any:
    # What quantize_mx keeps: 3 bits after the leading one, at a scale of the largest of 32.
    def kept(v: Any) -> Any:
        groups = v.astype(np.float32).reshape(4, 8, -1, 4)
        largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
        scale = 2.0 ** (np.floor(np.log2(largest)) - 7)
        return ((groups / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale).reshape(v.shape)

    left, right = kept(x).reshape(32, -1, 4), kept(y).reshape(32, -1, 4)
    return np.einsum("kmi,kni->mn", left, right)


CASES: dict[str, Case] = {
    "nisa.dma_copy": (IN + "t = x", (X,), lambda x: x),
    "nisa.tensor_copy": (IN + out(dtype="nl.bfloat16") + "nisa.tensor_copy(t, x)", (X,), lambda x: x),
    "nisa.memset": (out("(8, 8)") + "nisa.memset(t, 1.5)", (), lambda: np.full((8, 8), 1.5)),
    "nisa.tensor_copy_predicated": (
        IN + out() + "nisa.memset(t, 7.0)\nnisa.tensor_copy_predicated(t, x, y)",
        (X, FLAGS),
        lambda x, p: np.where(p, x, 7.0),
    ),
    "nisa.nc_matmul": (
        IN
        + "ps = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)\n"
        + "nisa.nc_matmul(ps, x, y, tile_position=(0, 0), tile_size=(32, 64))\n"
        + out("(64, 64)")
        + "nisa.tensor_copy(t, ps)",
        (X, Y),
        lambda x, y: x.T @ y,
    ),
    "nisa.nc_transpose": (
        IN + out("(32, 32)") + "nisa.nc_transpose(t, x[:, 0:32], engine=nisa.engine.vector)",
        (X,),
        lambda x: x[:, :32].T,
    ),
    "nisa.dma_transpose": (
        "t = nl.ndarray((64, 32), nl.bfloat16)\nnisa.dma_transpose(t, args[0])",
        (HALF,),
        lambda x: x.T,
    ),
    "nisa.tensor_tensor": (
        IN + out() + "nisa.tensor_tensor(t, x, y, nl.subtract)",
        (X, Y),
        lambda x, y: x - y,
    ),
    "nisa.tensor_scalar": (
        IN
        + out(dtype="nl.int32")
        + "nisa.tensor_scalar(t, x, nl.left_shift, 2, op1=nl.bitwise_xor, operand1=-1)",
        (INTS,),
        lambda x: (x << 2) ^ -1,
    ),
    "nisa.tensor_reduce": (
        IN + out("(32, 1)") + "nisa.tensor_reduce(t, nl.minimum, x, axis=1, negate=True)",
        (X,),
        lambda x: -x.min(1, keepdims=True),
    ),
    "nisa.tensor_partition_reduce": (
        IN + out("(1, 64)") + "nisa.tensor_partition_reduce(t, nl.add, x)",
        (X,),
        lambda x: x.sum(0, keepdims=True),
    ),
    "nisa.tensor_scalar_cumulative": (
        IN + out() + "nisa.tensor_scalar_cumulative(t, x, nl.multiply, nl.add, 2.0)",
        (X,),
        lambda x: np.cumsum(2 * x, axis=1),
    ),
    "nisa.tensor_tensor_scan": (
        IN + out() + "nisa.tensor_tensor_scan(t, x, y, 0.5, nl.multiply, nl.add)",
        (X, Y),
        _scan,
    ),
    "nisa.scalar_tensor_tensor": (
        IN + out() + "nisa.scalar_tensor_tensor(t, x, nl.square, None, nl.subtract, y, reverse1=True)",
        (X, Y),
        lambda x, y: y - x * x,
    ),
    "nisa.tensor_scalar_reduce": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.tensor_scalar_reduce(u, x, nl.add, 1.0, nl.maximum, t, reduce_res_negate=True)",
        (X,),
        lambda x: -(x + 1).max(1, keepdims=True),
    ),
    "nisa.activation": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.activation(u, nl.exp, x, scale=0.5, bias=x[:, 0:1], reduce_op=nl.add,"
        + " reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
        + "nisa.activation(u, nl.copy, x, reduce_op=nl.add, reduce_res=t, reduce_cmd=nisa.reduce_cmd.reduce)",
        (X,),
        lambda x: (np.exp(x * 0.5 + x[:, :1]) + x).sum(1, keepdims=True),
    ),
    "nisa.activation_reduce": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.activation_reduce(u, nl.square, x, nl.add, t)",
        (X,),
        lambda x: (x * x).sum(1, keepdims=True),
    ),
    "nisa.activate2": (
        IN + out() + "nisa.activate2(t, nl.prelu, x, 2.0, 1.0, nl.multiply, nl.subtract, relu_param=0.1)",
        (X,),
        lambda x: np.where(2 * x - 1 >= 0, 2 * x - 1, 0.1 * (2 * x - 1)),
    ),
    "nisa.exponential": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.exponential(u, x, x[:, 0:1], t, nisa.reduce_cmd.load_reduce, 3.0)",
        (X,),
        lambda x: np.exp(x - x[:, :1]).sum(1, keepdims=True) + 3,
    ),
    "nisa.reciprocal": (IN + out() + "nisa.reciprocal(t, x)", (X,), lambda x: 1 / x),
    "nisa.iota": (
        out("(8, 2, 3)", "nl.int32") + "nisa.iota(t, [[10, 2], [1, 3]], offset=5, channel_multiplier=100)",
        (),
        lambda: 5 + 100 * np.arange(8)[:, None, None] + 10 * np.arange(2)[:, None] + np.arange(3),
    ),
    "nisa.affine_select": (
        IN + out() + "nisa.affine_select(t, [[-1, 64]], 1, x, -9.0, nl.greater_equal)",
        (X,),
        lambda x: np.where(np.arange(32)[:, None] >= np.arange(64), x, -9.0),
    ),
    "nisa.range_select": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\nlow = nl.full((32, 1), 3.0, nl.float32)\n"
        + "high = nl.full((32, 1), 20.0, nl.float32)\n"
        + "nisa.range_select(u, x, nl.greater_equal, nl.less, low, high, reduce_res=t)",
        (X,),
        lambda x: x[:, 3:20].max(1, keepdims=True),
    ),
    "nisa.select_reduce": (
        IN
        + out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.select_reduce(u, y, x, -5.0, t, nisa.reduce_cmd.reset_reduce, reverse_pred=True)",
        (X, FLAGS),
        lambda x, p: np.where(p == 0, x, -5.0).max(1, keepdims=True),
    ),
    "nisa.sequence_bounds": (
        IN + out("(1, 2, 8)", "nl.int32") + "nisa.sequence_bounds(t, x)",
        (SEGMENTS,),
        lambda _: np.array([[[8, 1, 1, 3, 3, 3, 8, 7], [-1, 3, 3, 6, 6, 6, -1, 8]]]),
    ),
    "nisa.local_gather": (
        IN + out("(32, 32)") + "nisa.local_gather(t, x, y)",
        (X, RNG.integers(0, 64, (32, 2)).astype(np.uint16)),
        lambda x, i: np.concatenate([x[r : r + 16][:, i[r : r + 16].T.reshape(-1)] for r in (0, 16)]),
    ),
    "nisa.nc_n_gather": (
        IN + out("(32, 16)") + "nisa.nc_n_gather(t, x, y)",
        (X, IDS),
        lambda x, i: np.take_along_axis(x, i.astype(np.int64), 1),
    ),
    "nisa.nc_stream_shuffle": (
        IN + out() + "nisa.nc_stream_shuffle(t, x, [31 - i for i in range(32)])",
        (X,),
        lambda x: x[::-1],
    ),
    "nisa.nonzero_with_count": (
        IN + out("(1, 65)", "nl.int32") + "nisa.nonzero_with_count(t, x[0:1], index_offset=16)",
        (FLAGS.astype(np.int32),),
        lambda p: np.concatenate(
            [(f := np.flatnonzero(p[0])) + 16, np.full(64 - len(f), -1), [len(f)]]
        ).reshape(1, -1),
    ),
    "nisa.topk": (
        IN
        + "v = nl.ndarray((32, 8), nl.bfloat16); t = nl.ndarray((32, 8), nl.uint32)\n"
        + "nisa.topk(v, t, x[:, 0:3], n=42)",
        (HALF,),
        lambda x: np.concatenate(
            [
                np.tile(
                    np.argsort(x[r : r + 16, :3].T.reshape(-1)[:42].astype(np.float32), kind="stable")[-8:],
                    (16, 1),
                )
                for r in (0, 16)
            ]
        ),
    ),
    "nisa.bn_stats": (
        IN + out("(32, 6)") + "nisa.bn_stats(t, x)",
        (X,),
        lambda x: np.stack(
            [f for h in (x[:, ::2], x[:, 1::2]) for f in (np.full(32, 32.0), h.mean(1), h.var(1) * 32)], 1
        ),
    ),
    "nisa.bn_aggr": (
        IN
        + out("(32, 2)")
        + "s = nl.ndarray((32, 12), nl.float32)\nnisa.bn_stats(s[:, 0:6], x)\nnisa.bn_stats(s[:, 6:12], y)\n"
        + "nisa.bn_aggr(t, s)",
        (X, Y),
        lambda x, y: np.stack([(z := np.concatenate([x, y], 1)).mean(1), z.var(1)], 1),
    ),
    "nisa.max8": (
        IN + out("(32, 8)") + "nisa.max8(t, x)",
        (X,),
        lambda x: np.sort(x, 1)[:, ::-1][:, :8],
    ),
    "nisa.nc_find_index8": (
        IN
        + "v = nl.ndarray((32, 8), nl.float32)\nnisa.max8(v, x)\n"
        + out("(32, 8)", "nl.uint32")
        + "nisa.nc_find_index8(t, x, v)",
        (X,),
        lambda x: np.argsort(-x, 1)[:, :8],
    ),
    "nisa.nc_match_replace8": (
        IN
        + out("(1, 8)", "nl.uint32")
        + "u = nl.ndarray((1, 11), nl.float32)\nnisa.nc_match_replace8(u, x, y, 0.0, t)",
        (np.array([[1, 2, 3, 4] + [8] * 7], np.float32), np.array([[3] + [8] * 7], np.float32)),
        lambda _, __: np.array([[2, 10, 9, 8, 7, 6, 5, 4]]),
    ),
    "nisa.dma_compute": (
        IN + out() + "nisa.dma_compute(t, [x, y, x], nl.add)",
        (X, Y),
        lambda x, y: 2 * x + y,
    ),
    "nisa.quantize_mx": (
        "t = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        "x = nl.load(args[0])\nnisa.quantize_mx(t, x, s)\nt = s",
        (HALF,),
        lambda x: np.floor(np.log2(np.abs(x.astype(np.float32)).reshape(4, 8, 16, 4).max((1, 3)))) - 7 + 127,
    ),
    "nisa.nc_matmul_mx": (
        IN
        + "q = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        + "r = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); u = nl.ndarray((4, 16), nl.float8_e8m0fnu)\n"
        + "nisa.quantize_mx(q, x, s)\nnisa.quantize_mx(r, y, u)\n"
        + "ps = nl.ndarray((16, 16), nl.float32, buffer=nl.psum)\nnisa.nc_matmul_mx(ps, q, r, s, u)\n"
        + out("(16, 16)")
        + "nisa.tensor_copy(t, ps)",
        (HALF, Y.astype(ml_dtypes.bfloat16)),
        _mx,
    ),
    "nisa.sendrecv": (
        IN + out() + "nisa.sendrecv(x, t, 0, 0, pipe_id=0)",
        (X,),
        lambda x: x,
    ),
    "nisa.core_barrier": (
        IN + "t = x\nnisa.core_barrier(args[0], (0, 1))",
        (X,),
        lambda x: x,
    ),
    "nisa.rng": (
        "a = nl.ndarray((32, 64), nl.uint16); b = nl.ndarray((32, 64), nl.uint16)\n"
        "seed = nl.full((1, 1), 7, nl.int32)\n"
        "nisa.set_rng_seed(seed); nisa.rng(a); nisa.set_rng_seed(seed); nisa.rng(b)\n"
        + out("(32, 64)", "nl.uint16")
        + "nisa.tensor_tensor(t, a, b, nl.bitwise_xor)",
        (),
        lambda: np.zeros((32, 64)),
    ),
    "nisa.set_rng_seed": (
        "t = nl.full((1, 1), 7, nl.int32)\nnisa.set_rng_seed(t)",
        (),
        lambda: np.full((1, 1), 7),
    ),
    "nisa.rand_set_state": (
        IN + out("(32, 6)", "nl.uint32") + "nisa.rand_set_state(x)\nnisa.rand_get_state(t)",
        (IDS[:, :6],),
        lambda i: i,
    ),
    "nisa.rand_get_state": (
        out("(4, 6)", "nl.uint32") + "nisa.rand_get_state(t)",
        (),
        lambda: np.zeros((4, 6)),
    ),
    "nisa.rand2": (
        "u = nl.ndarray((32, 64), nl.float32)\nnisa.rand2(u, 2.0, 3.0)\n"
        + out("(32, 64)")
        + "nisa.tensor_scalar(t, u, nl.greater_equal, 2.0)",
        (),
        lambda: np.ones((32, 64)),
    ),
    "nisa.dropout": (IN + out() + "nisa.dropout(t, x, 1.0)", (X,), np.zeros_like),
    "nisa.register_alloc": (
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc(41)\nnisa.register_store(t, r)",
        (),
        lambda: np.array([[41]]),
    ),
    "nisa.register_move": (
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc()\nnisa.register_move(r, 5)\n"
        "nisa.register_store(t, r)",
        (),
        lambda: np.array([[5]]),
    ),
    "nisa.register_load": (
        "t = nl.full((1, 1), 9, nl.int32)\nr = nisa.register_alloc()\nnisa.register_load(r, t)",
        (),
        lambda: np.array([[9]]),
    ),
    "nisa.register_store": (
        "t = nl.ndarray((1, 1), nl.int32)\nnisa.register_store(t, nisa.register_alloc(3))",
        (),
        lambda: np.array([[3]]),
    ),
    "nisa.get_nc_version": (
        "t = nl.full((1, 1), int(nisa.get_nc_version() == nisa.nc_version.gen4), nl.int32)",
        (),
        lambda: np.array([[1]]),
    ),
    "nisa.get_nc_sub_version": (
        "t = nl.full((1, 1), nisa.get_nc_sub_version(), nl.int32)",
        (),
        lambda: np.zeros((1, 1)),
    ),
    "nisa.dge_mode": (
        "t = nl.ndarray((32, 64), nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(t, args[0], dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync, priority=1)",
        (X,),
        lambda x: x,
    ),
    "nisa.dma_engine": (
        IN + out() + "nisa.sendrecv(x, t, 0, 0, 0, dma_engine=nisa.dma_engine.gpsimd_dma)",
        (X,),
        lambda x: x,
    ),
    "nisa.VirtualRegister": (
        "r = nisa.register_alloc(2)\nassert isinstance(r, nisa.VirtualRegister) and r and int(r) == 2\n"
        "t = nl.full((1, 1), 2, nl.int32)",
        (),
        lambda: np.full((1, 1), 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_numpys(run_piece: Run, name: str) -> None:
    matches_numpy(run_piece, CASES[name])


@pytest.mark.parametrize(
    "name", [n for n in CASES if n != "nisa.register_store" and "assert" not in CASES[n][0]]
)
def test_shapes_issue_the_same_instructions(run_piece: Run, name: str) -> None:
    issues_the_same_by_shapes(run_piece, CASES[name])
